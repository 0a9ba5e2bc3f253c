/* States of a process, or of the library in it, when it opens a file. Its working directory changed unseen, an inode
 * number stands for another directory, its stack is small, or a process number is another's. */
#include "attack.h"
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STACK = 256 * 1024 };

static void *new_stack(size_t size)
{
    void *low = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    return low == MAP_FAILED ? NULL : (char *)low + size;
}

/* libc itself changes to the root. The first process waits, so that its caller sees the line. */
static int v_daemon(char **a)
{
    int ends[2];
    char nothing;
    if (pipe(ends))
        return FAILED;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        _exit(report(daemon(0, 1) ? FAILED : run(a)));
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &nothing, 1) < 0 || waitpid(child, NULL, 0) < 0)
        return FAILED;
    return REPORTED;
}

/* Another process that shares this one's working directory changes it. */
static int change_directory(void *to) { return chdir(to) ? errno : 0; }
static int v_clone_chdir(char **a)
{
    int status;
    pid_t child = clone(change_directory, new_stack(STACK), CLONE_FS | SIGCHLD, a[0]);
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return FAILED;
    errno = WEXITSTATUS(status);
    return errno ? FAILED : run(a + 1);
}

/* Two processes in one memory, each with a working directory of its own. */
static volatile int turn;
static int in_same_memory(void *line)
{
    char **a = line;
    int answer = chdir(a[0]);
    __atomic_store_n(&turn, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) != 2)
        sched_yield();
    _exit(report(answer ? FAILED : run(a + 1)));
}
static int v_clone_memory(char **a)
{
    pid_t child = clone(in_same_memory, new_stack(STACK), CLONE_VM | SIGCHLD, a);
    if (child < 0)
        return FAILED;
    while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) != 1)
        sched_yield();
    close(open("file", O_RDONLY)); /* the path of this one's directory is now known */
    __atomic_store_n(&turn, 2, __ATOMIC_SEQ_CST);
    return waitpid(child, NULL, 0) < 0 ? FAILED : REPORTED;
}

/* Runs the rest of the line, and sets the counter of the run's directory changes back after each change. */
static int page = -1;
static uint64_t counted;
static int v_forge(char **a)
{
    const char *handle = getenv("JP_CONFINE");
    page = handle ? atoi(strchr(handle, ':') + 1) : -1;
    return run(a);
}
static void count(void)
{
    if (page >= 0 && pread(page, &counted, sizeof counted, 0) < 0)
        page = -1;
}
static void set_back(void)
{
    if (page >= 0 && pwrite(page, &counted, sizeof counted, 0) < 0)
        page = -1;
}

/* A directory is removed after its path was learnt through a descriptor. A directory below a[0] then gets its number,
 * inode and descriptor. EOPNOTSUPP where the filesystem does not use numbers again. */
static int v_reused_inode(char **a)
{
    struct stat old, new;
    char name[300], inner[320];
    for (int i = 0; i < 300; i++) {
        if (mkdir("stale", 0700))
            return FAILED;
        int fd = open("stale", O_PATH | O_DIRECTORY);
        if (fd < 0 || fstat(fd, &old))
            return FAILED;
        close(openat(fd, "learnt", O_CREAT | O_WRONLY, 0600));
        unlinkat(fd, "learnt", 0);
        count();
        close(fd);
        snprintf(name, sizeof name, "%s/%d", a[0], i);
        snprintf(inner, sizeof inner, "%s/f", name);
        if (rmdir("stale") || mkdir(name, 0700))
            return FAILED;
        set_back();
        fd = open(name, O_PATH | O_DIRECTORY);
        if (fd < 0 || fstat(fd, &new))
            return FAILED;
        if (old.st_ino == new.st_ino && old.st_dev == new.st_dev) {
            close(open(inner, O_WRONLY | O_CREAT | O_EXCL, 0600));
            int opened = openat(fd, "f", O_RDWR);
            return opened < 0 ? FAILED : show(opened);
        }
        close(fd);
    }
    errno = EOPNOTSUPP;
    return FAILED;
}

/* A walk comes into a directory, which then moves below a[0]. Its contents are opened from there. */
static int v_walked(char **a)
{
    char moved[300];
    int top = open(".", O_RDONLY | O_DIRECTORY);
    if (top < 0 || mkdir("walked", 0700) || close(open("walked/f", O_WRONLY | O_CREAT, 0600)))
        return FAILED;
    int fd = openat(top, "walked", O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    int before = openat(fd, "f", O_RDONLY);
    snprintf(moved, sizeof moved, "%s/walked", a[0]);
    if (before < 0 || rename("walked", moved))
        return FAILED;
    int opened = openat(fd, "f", O_RDONLY);
    return opened < 0 ? FAILED : show(opened);
}

/* Waits for `body` in a thread, which returns what a verb returns. */
static int thread_error;
static int in_thread(const pthread_attr_t *attributes, void *(*body)(void *), char **a)
{
    pthread_t thread;
    void *answer;
    if ((errno = pthread_create(&thread, attributes, body, a)))
        return FAILED;
    pthread_join(thread, &answer);
    errno = thread_error;
    return (int)(intptr_t)answer;
}
static void *rest(void *line)
{
    intptr_t answer = run(line);
    thread_error = errno;
    return (void *)answer;
}

/* Runs the rest of the line in a thread with the smallest possible stack. */
static int v_small_stack(char **a)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, 16384))
        pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN));
    return in_thread(&attributes, rest, a);
}

/* Runs the rest of the line in a thread with descriptors of its own. To the others, all their numbers are a[0]. */
static void *with_own_descriptors(void *line)
{
    enum { MANY = 600 };
    char **a = line;
    if (unshare(CLONE_FILES) == 0) {
        for (int fd = 3; fd < MANY; fd++)
            close(fd);
        return rest(a + 1);
    }
    thread_error = errno;
    return (void *)(intptr_t)FAILED;
}
static int v_own_descriptors(char **a)
{
    for (int count = 0; count < 500; count++)
        if (open(a[0], O_RDONLY | O_DIRECTORY) < 0)
            return FAILED;
    return in_thread(NULL, with_own_descriptors, a);
}

/* Runs the rest of the line in a thread with a working directory of its own, while the others are in a[0]. */
static void *with_own_directory(void *line)
{
    char **a = line;
    if (unshare(CLONE_FS) || chdir(a[0])) {
        thread_error = errno;
        return (void *)(intptr_t)FAILED;
    }
    return rest(a + 1);
}
static int v_own_directory(char **a)
{
    close(open("file", O_RDONLY)); /* the path of the others' directory is now known */
    return in_thread(NULL, with_own_directory, a);
}

/* Runs the rest of the line in a thread that outlives the first one. */
static void *after_the_first(void *line)
{
    struct timespec moment = {.tv_nsec = 50 * 1000 * 1000};
    nanosleep(&moment, NULL);
    exit(report(run(line)));
}
static int v_outlive_first(char **a)
{
    pthread_t thread;
    if ((errno = pthread_create(&thread, NULL, after_the_first, a)))
        return FAILED;
    pthread_exit(NULL);
}

/* Another process and its environment. */
static pid_t sleeper(void)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(30);
        pause();
        _exit(0);
    }
    return child;
}
static int open_environment(pid_t of)
{
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/environ", of);
    int fd = open(name, O_RDONLY);
    return fd < 0 ? FAILED : close(fd);
}
static int end(pid_t child, int answer)
{
    int error = errno;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    errno = error;
    return answer;
}
static int v_other_environment(char **a)
{
    (void)a;
    pid_t other = sleeper();
    return other < 0 ? FAILED : end(other, open_environment(other));
}

/* In a process namespace of its own, a process may take the number of another one outside. */
static int as_number(pid_t number)
{
    pid_t numbers[1] = {number};
    struct { /* struct clone_args */
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size;
    } how = {.exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)numbers, .set_tid_size = 1};
    pid_t child = (pid_t)syscall(SYS_clone3, &how, sizeof how);
    if (child == 0)
        _exit(report(open_environment(number)));
    return child < 0 || waitpid(child, NULL, 0) < 0 ? FAILED : REPORTED;
}
static int v_other_environment_by_number(char **a)
{
    (void)a;
    pid_t other = sleeper();
    if (other < 0)
        return FAILED;
    if (unshare(CLONE_NEWPID))
        return end(other, FAILED);
    pid_t first = fork();
    if (first == 0) {
        int answer = as_number(other);
        _exit(answer == REPORTED ? 0 : report(answer));
    }
    if (first > 0)
        waitpid(first, NULL, 0);
    return end(other, first < 0 ? FAILED : REPORTED);
}

const struct verb state_verbs[] = {
    {"daemon", 0, v_daemon},
    {"clone_chdir", 1, v_clone_chdir},
    {"clone_memory", 1, v_clone_memory},
    {"reused_inode", 1, v_reused_inode},
    {"forge", 0, v_forge},
    {"walked", 1, v_walked},
    {"small_stack", 0, v_small_stack},
    {"own_descriptors", 1, v_own_descriptors},
    {"own_directory", 1, v_own_directory},
    {"outlive_first", 0, v_outlive_first},
    {"other_environment", 0, v_other_environment},
    {"other_environment_by_number", 0, v_other_environment_by_number},
    {0},
};
