/* Callers that have changed: limits, ids, masks, and where their paths are in memory. */
#include "stress.h"
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/xattr.h>

static void limit(int resource, rlim_t value) {
    struct rlimit limit_ = {value, value};
    must(setrlimit(resource, &limit_) == 0, "a limit");
}

/* HIGHEST: opens files until there is no room for more. */
void open_files(char **arguments) {
    limit(RLIMIT_NOFILE, (rlim_t)number(arguments[0]));
    int count = 0;
    while (syscall(SYS_openat, AT_FDCWD, "file", O_RDWR) >= 0) count++;
    printf("%s %s\n", said(-1), count > 0 && count < number(arguments[0]) ? "some" : "none");
}

/* A caller may make no file longer than its limit. A signal tells it so. */
void file_size(char **arguments) {
    (void)arguments;
    int status;
    limit(RLIMIT_FSIZE, 1000);
    pid_t child = fork();
    if (child == 0) _exit(syscall(SYS_truncate, "file", 2000) == 0);
    must(child > 0 && waitpid(child, &status, 0) == child, "a child");
    printf("signal %d ", WTERMSIG(status));
    signal(SIGXFSZ, SIG_IGN);
    const char *longer = said(syscall(SYS_truncate, "file", 2000));
    printf("%s %s\n", longer, said(syscall(SYS_truncate, "file", 500)));
}

static void *send_to_nobody(void *unused) {
    (void)unused;
    sigset_t blocked, pending;
    int ends[2];
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &blocked, 0);
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "sockets");
    close(ends[1]);
    struct iovec piece = {"a", 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    printf("%s", said(syscall(SYS_sendmsg, ends[0], &message, 0)));
    sigpending(&pending);
    printf(" pending %d\n", sigismember(&pending, SIGPIPE));
    return 0;
}

/* The signal for sending to nobody is for the thread that sends, which blocks it. Any other thread would die of it. */
void hangup(char **arguments) {
    (void)arguments;
    pthread_t thread;
    must(pthread_create(&thread, 0, send_to_nobody, 0) == 0, "a thread");
    pthread_join(thread, 0);
}

/* UID GID GROUP UMASK: who owns what a thread creates after it has become somebody else? */
void identity(char **arguments) {
    gid_t groups[] = {(gid_t)number(arguments[2])};
    must(syscall(SYS_setgroups, 1, groups) == 0, "groups");
    must(syscall(SYS_setresgid, -1, number(arguments[1]), -1) == 0, "a group");
    must(syscall(SYS_setresuid, -1, number(arguments[0]), -1) == 0, "a user");
    umask((mode_t)strtol(arguments[3], 0, 8));
    long file = syscall(SYS_openat, AT_FDCWD, "dir/mine", O_CREAT | O_WRONLY | O_EXCL, 0666);
    struct stat stat_ = {0};
    if (file >= 0) fstat((int)file, &stat_);
    printf("%s %d:%d %o", said(file), stat_.st_uid, stat_.st_gid, stat_.st_mode & 0777);
    printf(" mkdir %s", said(syscall(SYS_mkdir, "dir/sub", 0777)));
    if (stat("dir/sub", &stat_) == 0) printf(" %d:%d %o", stat_.st_uid, stat_.st_gid, stat_.st_mode & 0777);
    printf(" roots %s\n", said(syscall(SYS_openat, AT_FDCWD, "file", O_WRONLY)));
}

/* Names in a directory. Each is valid until the next but three. */
static const char *in(const char *directory, const char *name) {
    static char paths[4][200];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof *paths, "%s/%s", directory, name);
    return path;
}

static long bind_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address);
}

/* DIRECTORY...: operations of a process on a file of its own in each. */
void own_file(char **arguments) {
    for (; *arguments; arguments++) {
        const char *mine = in(*arguments, "mine"), *other = in(*arguments, "other"), *third = in(*arguments, "third");
        long file = open(mine, O_CREAT | O_RDWR, 0644);
        printf("make %s chmod %s", said(file), said(chmod(mine, 0600)));
        printf(" times %s", said(utimensat(AT_FDCWD, mine, 0, 0)));
        printf(" xattr %s", said(setxattr(mine, "user.a", "1", 1, 0)));
        printf(" truncate %s", said(truncate(mine, 7)));
        printf(" link %s", said(link(mine, other)));
        printf(" rename %s", said(rename(other, third)));
        printf(" unlink %s %s", said(unlink(third)), said(unlink(mine)));
        printf(" bind %s", said(bind_to(third)));
        printf(" unlink %s\n", said(unlink(third)));
    }
}

/* VERB...: operations of a process that nobody may look into. */
void hidden(char **arguments) {
    must(prctl(PR_SET_DUMPABLE, 0) == 0, "to hide");
    perform(arguments);
}

/* UID VERB...: the same as another user. The process is hidden from that user, too. */
void stranger(char **arguments) {
    uid_t user = (uid_t)number(arguments[0]);
    must(setgroups(0, 0) == 0 && setresgid(user, user, user) == 0, "a group");
    must(setresuid(user, user, user) == 0, "a user");
    perform(arguments + 1);
}

/* PROGRAM: starts it, and prints what it returns. */
void start(char **arguments) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        execv(arguments[0], arguments);
        printf("%s ", said(-1));
        fflush(stdout);
        _exit(99);
    }
    must(child > 0 && waitpid(child, &status, 0) == child, "a child");
    printf("status %d\n", WEXITSTATUS(status));
}

static long open_at(const char *path) { return syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT, 0600); }

/* Paths across the end of a page, at the end of memory, without an end, and very long ones. */
void memory(char **arguments) {
    (void)arguments;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = mmap(0, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(at != MAP_FAILED && mprotect(at + 4 * page, 4 * page, PROT_NONE) == 0, "pages");
    memcpy(at + page - 2, "./file", 7);
    printf("across %s", said(open_at(at + page - 2)));
    memcpy(at + 4 * page - 5, "file", 5);
    printf(" end %s", said(open_at(at + 4 * page - 5)));
    memcpy(at + 4 * page - 4, "file", 4);
    printf(" open %s", said(open_at(at + 4 * page - 4)));
    printf(" none %s", said(open_at(at + 5 * page)));
    printf(" null %s", said(open_at(0)));
    printf(" high %s", said(open_at((char *)-1)));
    memset(at, '/', 2 * page);
    memcpy(at + 4091, "file", 5);
    memcpy(at, ".", 1);
    printf(" longest %s", said(open_at(at)));
    memcpy(at + 4092, "file", 5);
    at[4091] = '/';
    printf(" longer %s", said(open_at(at)));
    memset(at + 2, 'n', 256);
    at[258] = 0;
    printf(" name %s\n", said(open_at(at)));
}

/* The names by which a process refers to itself. */
void self(char **arguments) {
    (void)arguments;
    char text[64];
    int pipes[2];
    must(pipe(pipes) == 0, "a pipe");
    snprintf(text, sizeof text, "/dev/fd/%d", pipes[1]);
    long by_number = syscall(SYS_openat, AT_FDCWD, text, O_WRONLY);
    printf("fd %s", by_number >= 0 && write((int)by_number, "x", 1) == 1 && read(pipes[0], text, 1) == 1 ? "ok" : said(-1));
    printf(" stdout %s", said(syscall(SYS_openat, AT_FDCWD, "/dev/stdout", O_WRONLY)));
    long name = syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/comm", O_WRONLY);
    printf(" comm %s", name >= 0 && write((int)name, "renamed", 7) == 7 ? "ok" : said(-1));
    must(prctl(PR_GET_NAME, text) == 0, "a name");
    printf(" %s", text);
    long other = syscall(SYS_openat, AT_FDCWD, "/proc/self/task/../comm", O_WRONLY);
    printf(" task %s", said(other));
    printf(" tty %s\n", said(syscall(SYS_openat, AT_FDCWD, "/dev/tty", O_RDWR)));
}

/* Where relative paths start: a removed directory, a bad and a wrong descriptor. */
void places(char **arguments) {
    (void)arguments;
    int file = open("file", O_RDONLY);
    printf("bad %s", said(syscall(SYS_openat, 99, "file", O_WRONLY)));
    printf(" negative %s", said(syscall(SYS_openat, -7, "file", O_WRONLY)));
    printf(" file %s", said(syscall(SYS_openat, file, "file", O_WRONLY)));
    printf(" absolute %s", said(syscall(SYS_openat, 99, "/dev/null", O_WRONLY)));
    must(mkdir("gone", 0700) == 0 && chdir("gone") == 0 && rmdir("../gone") == 0, "a removed directory");
    printf(" gone %s", said(open_at("file")));
    printf(" above %s", said(open_at("../file")));
    printf(" mkdir %s\n", said(syscall(SYS_mkdir, "new", 0700)));
}

/* SUPERVISOR: what a process of the run can do to the supervisor. */
void intrude(char **arguments) {
    pid_t supervisor = arguments[0] ? number(arguments[0]) : getppid();
    char path[64], byte;
    const char *names[] = {"mem", "environ", "fd", "maps", "root", "cwd", "exe"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "/proc/%d/%s", supervisor, names[i]);
        printf("%s %s ", names[i], said(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY)));
    }
    printf("ptrace %s ", said(ptrace(PTRACE_ATTACH, supervisor, 0, 0)));
    struct iovec local = {&byte, 1}, remote = {(void *)0x10000, 1};
    printf("read %s ", said(process_vm_readv(supervisor, &local, 1, &remote, 1, 0)));
    int handle = (int)syscall(SYS_pidfd_open, supervisor, 0);
    long stolen = -1;
    for (int fd = 0; fd < 64 && stolen < 0; fd++) stolen = syscall(SYS_pidfd_getfd, handle, fd, 0);
    printf("descriptor %s ", said(stolen));
    printf("kill %s\n", said(kill(supervisor, SIGKILL)));
}

/* NAME: sends to a socket of its own there, and reads the sender that the kernel names. Then claims to be root, and
   again in a user namespace of its own. */
void send_to_own(char **arguments) {
    struct sockaddr_un name = {AF_UNIX, ""};
    strncpy(name.sun_path, arguments[0], sizeof name.sun_path - 1);
    int server = socket(AF_UNIX, SOCK_DGRAM, 0), client = socket(AF_UNIX, SOCK_DGRAM, 0), yes = 1;
    must(bind(server, (struct sockaddr *)&name, sizeof name) == 0, "a name");
    must(setsockopt(server, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) == 0, "an option");
    must(sendto(client, "x", 1, 0, (struct sockaddr *)&name, sizeof name) == 1, "a message");
    struct ucred who = {0, 0, 0};
    char room[CMSG_SPACE(sizeof who)], data[1];
    struct iovec piece = {data, sizeof data};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = room};
    message.msg_controllen = sizeof room;
    must(recvmsg(server, &message, 0) == 1, "the message");
    memcpy(&who, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof who);
    printf("from %u\n", who.uid);
    who = (struct ucred){getpid(), 0, 0};
    memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &who, sizeof who);
    message.msg_name = &name, message.msg_namelen = sizeof name;
    message.msg_controllen = sizeof room;
    int sent = sendmsg(client, &message, 0) == 1;
    printf("as root: %s\n", sent ? "ok" : strerror(errno));
    /* Here it may be root in its own namespace. */
    int apart = unshare(CLONE_NEWUSER) == 0;
    sent = sendmsg(client, &message, 0) == 1;
    printf("as root apart: %s\n", apart && sent ? "ok" : "refused");
}

/* PATH...: opens each for writing, and writes. */
void write_to(char **arguments) {
    for (; *arguments; arguments++) {
        long file = syscall(SYS_openat, AT_FDCWD, *arguments, O_WRONLY | O_TRUNC);
        printf("%s%s", said(file), arguments[1] ? " " : "\n");
        if (file >= 0) must(write((int)file, "written\n", 8) == 8, "to write");
    }
}

/* PATHS: opens files that may be there already, with O_CREAT. */
void make_there(char **arguments) {
    for (; *arguments; arguments++) {
        long file = syscall(SYS_openat, AT_FDCWD, *arguments, O_RDWR | O_CREAT | O_NONBLOCK, 0600);
        printf("%s%s", said(file), arguments[1] ? " " : "\n");
    }
}

/* PATH: in namespaces of its own, a program makes a file, opens the path, and tries to mount. */
void namespaces(char **arguments) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) != 0) {
        printf("none\n");
        return;
    }
    pid_t child = fork();
    must(child >= 0, "a child");
    if (child == 0) {
        struct stat stat_ = {0};
        long file = syscall(SYS_openat, AT_FDCWD, "made", O_CREAT | O_EXCL | O_WRONLY, 0600);
        must(file >= 0 && fstat((int)file, &stat_) == 0, "to make a file");
        printf("pid %d owner %s", getpid(), stat_.st_uid == geteuid() ? "own" : "other");
        printf(" path %s", said(syscall(SYS_openat, AT_FDCWD, arguments[0], O_WRONLY)));
        printf(" comm %s", said(syscall(SYS_openat, AT_FDCWD, "/proc/self/comm", O_WRONLY)));
        printf(" mount %s\n", said(mount("none", "/", "tmpfs", 0, 0)));
        fflush(stdout);
        _exit(0);
    }
    must(waitpid(child, 0, 0) == child, "the child");
}
