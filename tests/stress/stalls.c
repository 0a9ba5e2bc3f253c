/* Callers that stand still in the middle of a call, or that have hardly any room. */
#include "stress.h"
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

static long open_at(const char *path) { return syscall(SYS_openat, AT_FDCWD, path, O_RDWR); }

static const char *_Atomic answer;

static void *open_there(void *path) {
    answer = said(open_at(path));
    return 0;
}

/* A page that nobody fills in. The kernel waits for it, or fails the call. */
static char *unserved_page(int *faults) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    long fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    struct uffdio_api api = {.api = UFFD_API};
    if (fd < 0 || ioctl((int)fd, UFFDIO_API, &api) != 0) return 0;
    char *at = mmap(0, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(at != MAP_FAILED, "a page");
    struct uffdio_register range = {
        .range = {(unsigned long)at, page}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    must(ioctl((int)fd, UFFDIO_REGISTER, &range) == 0, "a registered page");
    *faults = (int)fd;
    return at;
}

/* COUNT: the path of a thread is in a page that never comes. The others go on, and the program ends. */
void unserved(char **arguments) {
    int faults, opened = 0;
    char *page = unserved_page(&faults);
    if (!page) {
        printf("none\n");
        return;
    }
    pthread_t thread;
    must(pthread_create(&thread, 0, open_there, page) == 0, "a thread");
    struct pollfd fault = {.fd = faults, .events = POLLIN};
    while (!answer && poll(&fault, 1, 10) == 0) continue;
    for (int i = 0; i < number(arguments[0]); i++) {
        long file = open_at("file");
        opened += file >= 0;
        if (file >= 0) close((int)file);
    }
    printf("first %s others %d\n", answer ? answer : "waits", opened);
}

/* HIGHEST: what a caller without room for descriptors may still do. */
void few_files(char **arguments) {
    rlim_t most = (rlim_t)number(arguments[0]);
    struct rlimit few = {most, most};
    int opened = 0;
    must(setrlimit(RLIMIT_NOFILE, &few) == 0, "a limit");
    while (open_at("file") >= 0) opened++;
    printf("%d then %s", opened, said(-1));
    printf(" make %s", said(syscall(SYS_openat, AT_FDCWD, "new", O_CREAT | O_EXCL | O_WRONLY, 0600)));
    printf(" empty %s", said(syscall(SYS_openat, AT_FDCWD, "file", O_TRUNC | O_WRONLY)));
    struct stat file = {0};
    must(stat("file", &file) == 0, "to look");
    printf(" made %s left %ld", said(access("new", F_OK)), (long)file.st_size);
    printf(" mkdir %s", said(syscall(SYS_mkdirat, AT_FDCWD, "few", 0700)));
    printf(" rename %s", said(syscall(SYS_renameat, AT_FDCWD, "few", AT_FDCWD, "fewer")));
    printf(" rmdir %s", said(syscall(SYS_unlinkat, AT_FDCWD, "fewer", AT_REMOVEDIR)));
    printf(" truncate %s\n", said(syscall(SYS_truncate, "file", 1)));
}

/* The calls of a caller that may start no process are answered. */
void no_processes(char **arguments) {
    (void)arguments;
    struct rlimit none = {0, 0};
    must(setrlimit(RLIMIT_NPROC, &none) == 0, "a limit");
    pid_t child = fork();
    if (child == 0) _exit(0);
    printf("fork %s", said(child));
    printf(" open %s mkdir %s\n", said(open_at("file")), said(syscall(SYS_mkdirat, AT_FDCWD, "none", 0700)));
}

/* A tracer stops a process that waits in a call, and lets it go on. The call then ends as it would have. */
static void stopped_by(void (*stop)(pid_t), const char *fifo) {
    pid_t child = fork();
    if (child == 0) _exit(syscall(SYS_openat, AT_FDCWD, fifo, O_WRONLY) >= 0 ? 7 : 8);
    int status;
    usleep(50000);
    stop(child);
    must(waitpid(child, &status, 0) == child, "a stop");
    printf("%s", WIFSTOPPED(status) ? "stopped" : "ended");
    must(ptrace(PTRACE_DETACH, child, 0, 0) == 0, "a farewell");
    must(syscall(SYS_openat, AT_FDCWD, fifo, O_RDONLY) >= 0, "the other end");
    waitpid(child, &status, 0);
    printf(" then %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void attach(pid_t child) {
    must(ptrace(PTRACE_ATTACH, child, 0, 0) == 0, "a tracee");
}

static void interrupt(pid_t child) {
    must(ptrace(PTRACE_SEIZE, child, 0, 0) == 0, "a tracee");
    for (int again = 1; again >= 0; again--) {
        must(ptrace(PTRACE_INTERRUPT, child, 0, 0) == 0, "an interruption");
        if (!again) return;
        must(waitpid(child, 0, 0) == child, "a stop");
        must(ptrace(PTRACE_CONT, child, 0, 0) == 0, "a tracee that goes on");
        usleep(50000);
    }
}

/* FIFO: as debuggers do. */
void attached(char **arguments) {
    stopped_by(attach, arguments[0]);
}

/* FIFO: as strace does when it attaches, and again when it leaves. */
void seized(char **arguments) {
    stopped_by(interrupt, arguments[0]);
}
