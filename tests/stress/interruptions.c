/* Callers that are killed, and signals, while a call is being answered. */
#include "stress.h"
#include <sys/time.h>

static atomic_long arrived;

static void note(int signal_) {
    (void)signal_;
    arrived++;
}

static void handle(int signal_, int flags) {
    struct sigaction action = {.sa_handler = note, .sa_flags = flags};
    must(sigaction(signal_, &action, 0) == 0, "a handler");
}

static void alarms(long first, long then) {
    struct itimerval timer = {{0, then}, {0, first}};
    must(setitimer(ITIMER_REAL, &timer, 0) == 0, "a timer");
}

/* FIFO TIMES: kills children that make calls all the time, one of which blocks. */
void killed(char **arguments) {
    for (int i = 0; i < number(arguments[1]); i++) {
        pid_t child = fork();
        must(child >= 0, "a child");
        for (int at = 0; child == 0; at++) {
            syscall(SYS_chmod, "file", 0644);
            long file = syscall(SYS_openat, AT_FDCWD, "killed", O_CREAT | O_WRONLY, 0600);
            if (file >= 0) close((int)file);
            if (i % 3 == 0 && at == 2) syscall(SYS_openat, AT_FDCWD, arguments[0], O_WRONLY);
        }
        usleep((useconds_t)(i * 37 % 3000));
        kill(child, SIGKILL);
        must(waitpid(child, 0, 0) == child, "the child");
    }
    printf("then %s\n", said(syscall(SYS_chmod, "file", 0600)));
}

static void *write_later(void *fifo) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, 0);
    usleep(500 * 1000);
    long file = syscall(SYS_openat, AT_FDCWD, fifo, O_WRONLY | O_NONBLOCK);
    usleep(100 * 1000);
    if (file >= 0) close((int)file);
    return 0;
}

/* FIFO restart|fail: a signal comes during a wait. */
void signals(char **arguments) {
    int restart = strcmp(arguments[1], "restart") == 0;
    handle(SIGALRM, restart ? SA_RESTART : 0);
    pthread_t thread;
    if (restart) must(pthread_create(&thread, 0, write_later, arguments[0]) == 0, "a thread");
    alarms(100 * 1000, 0);
    long file = syscall(SYS_openat, AT_FDCWD, arguments[0], O_RDONLY | O_CREAT, 0600);
    printf("%s handled %ld\n", said(file), arrived);
}

/* TIMES restart|fail: creates files exclusively in a storm of signals. */
void storm(char **arguments) {
    long exists = 0, interrupted = 0, other = 0;
    handle(SIGALRM, strcmp(arguments[1], "restart") == 0 ? SA_RESTART : 0);
    alarms(100, 100);
    for (int i = 0; i < number(arguments[0]); i++) {
        char name[64];
        snprintf(name, sizeof name, "storm-%d", i);
        long file = syscall(SYS_openat, AT_FDCWD, name, O_CREAT | O_EXCL | O_WRONLY, 0600);
        if (file >= 0) close((int)file);
        else if (errno == EEXIST) exists++;
        else if (errno == EINTR) interrupted++;
        else other++;
        syscall(SYS_unlink, name);
    }
    alarms(0, 0);
    printf("exists %ld interrupted %ld other %ld signals %s\n", exists, interrupted, other, arrived ? "some" : "none");
}

static atomic_long strange;

static void *wait_again(void *fifo) {
    for (;;) {
        long file = syscall(SYS_openat, AT_FDCWD, fifo, O_RDONLY | O_CREAT, 0600);
        if (file >= 0) return 0;
        if (errno != EINTR) strange++;
    }
}

/* FIFO: threads wait, and signals come for the process. One thread gets each signal. */
void shared_signal(char **arguments) {
    pthread_t all[8], writer;
    handle(SIGALRM, 0);
    for (int i = 0; i < 8; i++) must(pthread_create(&all[i], 0, wait_again, arguments[0]) == 0, "a thread");
    must(pthread_create(&writer, 0, write_later, arguments[0]) == 0, "a thread");
    alarms(10 * 1000, 10 * 1000);
    wait_again(arguments[0]);
    for (int i = 0; i < 8; i++) pthread_join(all[i], 0);
    printf("strange %ld signals %s\n", strange, arrived ? "some" : "none");
}
