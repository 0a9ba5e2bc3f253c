/* Many at once: threads, processes, parents that wait for their children, calls that block. */
#include "stress.h"
#include <sys/socket.h>

static int each;
static atomic_long wrong;

static void *make_and_remove(void *argument) {
    char name[64];
    for (int i = 0; i < each; i++) {
        snprintf(name, sizeof name, "crowd-%ld-%d", (long)argument, i);
        long file = syscall(SYS_openat, AT_FDCWD, name, O_CREAT | O_EXCL | O_WRONLY, 0600);
        if (file < 0 || close((int)file) < 0 || syscall(SYS_unlink, name) < 0) wrong++;
    }
    return 0;
}

/* HOW-MANY TIMES: each makes and removes files of its own. */
void threads(char **arguments) {
    int count = number(arguments[0]);
    pthread_t all[count];
    each = number(arguments[1]);
    for (long i = 0; i < count; i++) must(pthread_create(&all[i], 0, make_and_remove, (void *)i) == 0, "a thread");
    for (int i = 0; i < count; i++) pthread_join(all[i], 0);
    printf("wrong %ld\n", atomic_load(&wrong));
}

/* HOW-MANY: short processes, 32 at a time. */
void processes(char **arguments) {
    int bad = 0, running = 0, status;
    for (int i = 0; i < number(arguments[0]); i++) {
        pid_t child = fork();
        must(child >= 0, "a process");
        if (child == 0) {
            each = 1;
            make_and_remove((void *)(long)getpid());
            _exit((int)atomic_load(&wrong));
        }
        if (++running == 32) {
            wait(&status);
            bad += status != 0;
            running--;
        }
    }
    while (wait(&status) > 0) bad += status != 0;
    printf("wrong %d\n", bad);
}

/* TIMES: a child makes a trapped call in its parent's memory while the parent waits. */
void vforks(char **arguments) {
    static volatile long bad;
    for (volatile int i = 0; i < number(arguments[0]); i++) {
        pid_t child = vfork();
        if (child == 0) {
            bad += syscall(SYS_mkdirat, AT_FDCWD, "from-vfork", 0700) < 0;
            bad += syscall(SYS_rmdir, "from-vfork") < 0;
            _exit(0);
        }
        int status;
        must(child > 0 && waitpid(child, &status, 0) == child, "a child");
    }
    printf("wrong %ld\n", bad);
}

static const char *fifo;
static atomic_long opened, out_of_memory, other;

static void *wait_for_writer(void *argument) {
    (void)argument;
    long file = syscall(SYS_openat, AT_FDCWD, fifo, O_RDONLY | O_CREAT, 0600);
    if (file >= 0) opened++;
    else if (errno == ENOMEM) out_of_memory++;
    else other++;
    return 0;
}

/* FIFO HOW-MANY: so many opens wait. Then other calls are made, and then somebody writes. */
void crowd(char **arguments) {
    int count = number(arguments[1]);
    pthread_t *all = calloc((size_t)count, sizeof *all);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 * 1024);
    fifo = arguments[0];
    for (int i = 0; i < count; i++) must(pthread_create(&all[i], &small, wait_for_writer, 0) == 0, "a thread");
    usleep(300 * 1000);
    each = 20;
    make_and_remove((void *)-1L);
    long writer = syscall(SYS_openat, AT_FDCWD, fifo, O_RDWR);
    must(writer >= 0, "a writer");
    for (int i = 0; i < count; i++) pthread_join(all[i], 0);
    printf("opened %ld out-of-memory %ld other %ld wrong %ld\n", opened, out_of_memory, other, wrong);
}

static int passed[253], passed_count;

static void *pass_and_make(void *argument) {
    union { char bytes[CMSG_SPACE(sizeof passed)]; struct cmsghdr align; } control;
    struct iovec data = {"a", 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control};
    size_t size = (size_t)passed_count * sizeof *passed;
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0, "a pair");
    control.align = (struct cmsghdr){CMSG_LEN(size), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.align), passed, size);
    message.msg_controllen = CMSG_SPACE(size);
    for (int i = 0; i < each; i++) {
        char byte;
        if (syscall(SYS_sendmsg, ends[0], &message, 0) != 1 || recv(ends[1], &byte, 1, 0) != 1) wrong++;
    }
    return make_and_remove(argument);
}

/* HOW-MANY DESCRIPTORS TIMES: each sends that many descriptors at a time, and creates files. */
void passers(char **arguments) {
    int count = number(arguments[0]);
    pthread_t all[count];
    passed_count = number(arguments[1]);
    each = number(arguments[2]);
    for (int i = 0; i < passed_count; i++) must((passed[i] = dup(1)) >= 0, "a descriptor");
    for (long i = 0; i < count; i++) must(pthread_create(&all[i], 0, pass_and_make, (void *)i) == 0, "a thread");
    for (int i = 0; i < count; i++) pthread_join(all[i], 0);
    printf("wrong %ld\n", atomic_load(&wrong));
}
