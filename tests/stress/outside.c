/* Reaches processes outside the run by other ways than files. */
#include "stress.h"
#include <sched.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

static socklen_t address(struct sockaddr_un *to, const char *name) {
    memset(to, 0, sizeof *to);
    to->sun_family = AF_UNIX;
    strncpy(to->sun_path + 1, name, sizeof to->sun_path - 2);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(to->sun_path + 1));
}

static const char *connected(const char *name) {
    struct sockaddr_un to;
    socklen_t length = address(&to, name);
    return said(connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&to, length));
}

static const char *sent(const char *name) {
    struct sockaddr_un to;
    socklen_t length = address(&to, name);
    int from = socket(AF_UNIX, SOCK_DGRAM, 0);
    return said(from < 0 ? from : sendto(from, "x", 1, 0, (struct sockaddr *)&to, length));
}

/* NAME MESSAGES OTHER NONE: servers outside that have abstract names, for streams and for messages, one of this
 * program's own, and a name that nobody has. */
void abstract(char **arguments) {
    struct sockaddr_un own;
    socklen_t length = address(&own, arguments[2]);
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    must(bind(server, (struct sockaddr *)&own, length) == 0 && listen(server, 1) == 0, "a server");
    printf("outside %s", connected(arguments[0]));
    printf(" sent %s", sent(arguments[1]));
    printf(" own %s", connected(arguments[2]));
    printf(" nobody %s\n", connected(arguments[3]));
}

/* PID: operations on a process of the same user. */
void reach(char **arguments) {
    pid_t pid = number(arguments[0]);
    char byte;
    struct iovec here = {&byte, 1}, there = {0, 1};
    long handle = syscall(SYS_pidfd_open, pid, 0);
    printf("descriptor %s", said(syscall(SYS_pidfd_getfd, handle, 0, 0)));
    printf(" read %s", said(process_vm_readv(pid, &here, 1, &there, 1, 0)));
    printf(" write %s", said(process_vm_writev(pid, &here, 1, &there, 1, 0)));
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    printf(" limits %s", said(prlimit(pid, RLIMIT_CPU, &all, 0)));
    printf(" priority %s", said(setpriority(PRIO_PROCESS, pid, 1)));
    printf(" group %s", said(setpriority(PRIO_PGRP, 0, 0)));
    cpu_set_t cpus;
    must(sched_getaffinity(0, sizeof cpus, &cpus) == 0, "processors");
    printf(" processors %s", said(sched_setaffinity(pid, sizeof cpus, &cpus)));
    printf(" pages %s", said(syscall(SYS_move_pages, pid, 0, 0, 0, 0, 0)));
    pid_t first = getpgrp();
    printf(" join %s", said(setpgid(0, pid)));
    printf(" own %s", said(setpgid(0, getpid())));
    printf(" %s", said(setpgid(0, first)));
    printf(" %s", said(prlimit(getpid(), RLIMIT_CPU, &all, 0)));
    printf(" %s", said(setpriority(PRIO_PROCESS, getpid(), 0)));
    printf(" %s", said(sched_setaffinity(getpid(), sizeof cpus, &cpus)));
    printf(" trace %s\n", said(ptrace(PTRACE_SEIZE, pid, 0, 0)));
}
