/* Places and times at which a library would lose its hold if it locks, allocates or relies on its constructor: signal
 * handlers, raw children, forks of a busy process. Each runs the rest of the line. */
#include "attack.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SMALL = 16384, CHILDREN = 200, BUSY = 4 };

extern char **environ;

static char **rest;
static int answer;
static int error;

static int waited(pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return FAILED;
    if (WIFEXITED(status))
        return REPORTED;
    errno = EFAULT; /* it crashed */
    return FAILED;
}

/* Runs in a child. The answer goes out at once, without what the parent had buffered. */
static void in_child(char **line)
{
    const char *text = run(line) == DONE ? "ok" : errno_name(errno);
    (void)!write(1, text, strlen(text));
    _exit(0);
}

static void run_here(int signal)
{
    (void)signal;
    answer = run(rest);
    error = errno;
}

static void vfork_here(int signal)
{
    (void)signal;
    char *line[32] = {self};
    for (int i = 0; rest[i] && i < 30; i++)
        line[i + 1] = rest[i];
    pid_t child = vfork();
    if (child == 0) {
        execve(self, line, environ);
        _exit(1);
    }
    answer = waited(child);
    error = errno;
}

static int in_handler(void (*handler)(int), int flags, char **line)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    rest = line;
    if (sigaction(SIGUSR1, &action, NULL) || raise(SIGUSR1))
        return FAILED;
    errno = error;
    return answer;
}

static int v_handler(char **a) { return in_handler(run_here, 0, a); }
static int v_handler_vfork(char **a) { return in_handler(vfork_here, 0, a); }
static int v_handler_small_stack(char **a)
{
    stack_t stack = {.ss_size = SMALL};
    stack.ss_sp = mmap(NULL, SMALL, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return sigaltstack(&stack, NULL) ? FAILED : in_handler(run_here, SA_ONSTACK, a);
}

static void go_on(int signal) { (void)signal; }

/* Opens a file again after a person interrupts the first time. */
static int v_open_interrupted(char **a)
{
    struct sigaction action = {.sa_handler = go_on, .sa_flags = SA_RESTART};
    if (sigaction(SIGINT, &action, NULL))
        return FAILED;
    line("first", "open", open(a[0], O_RDONLY));
    line("second", "open", open(a[0], O_RDONLY));
    return DONE;
}

/* clone(2) without libc, which then does not know of the child. */
static int v_raw_clone(char **a)
{
    long child;
#if defined __x86_64__
    register long r10 __asm__("r10") = 0, r8 __asm__("r8") = 0;
    __asm__ volatile("syscall"
                     : "=a"(child)
                     : "a"(SYS_clone), "D"(SIGCHLD), "S"(0), "d"(0), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
#else
    child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
    if (child == 0)
        in_child(a);
    return waited((pid_t)child);
}

/* Threads that open, change directories and allocate without a pause. */
static volatile int stop;
static void *busy(void *unused)
{
    (void)unused;
    while (!stop) {
        free(malloc(1000));
        close(open("file", O_RDONLY));
        (void)!chdir(".");
    }
    return NULL;
}

/* No child may hang on a lock that a thread of its parent held, nor see what it must not. */
static int v_forks_under_load(char **a)
{
    pthread_t threads[BUSY];
    int failures = 0;
    for (int i = 0; i < BUSY; i++)
        if ((errno = pthread_create(&threads[i], NULL, busy, NULL)))
            return FAILED;
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            _exit(run(a) == DONE ? 0 : errno);
        }
        if (child < 0 || waitpid(child, &status, 0) < 0)
            return FAILED;
        if (!WIFEXITED(status)) {
            errno = EFAULT;
            return FAILED;
        }
        if (WEXITSTATUS(status) == 0)
            return DONE;
        failures += WEXITSTATUS(status) == EACCES;
    }
    stop = 1;
    for (int i = 0; i < BUSY; i++)
        pthread_join(threads[i], NULL);
    errno = failures == CHILDREN ? EACCES : EINVAL;
    return FAILED;
}

const struct verb staying_verbs[] = {
    {"handler", 0, v_handler},
    {"handler_vfork", 0, v_handler_vfork},
    {"handler_small_stack", 0, v_handler_small_stack},
    {"open_interrupted", 1, v_open_interrupted},
    {"raw_clone", 0, v_raw_clone},
    {"forks_under_load", 0, v_forks_under_load},
    {0},
};
