/* Makes system calls by instruction, without any function of libc that a library could hook. */
#include "attack.h"
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "absent.h"

extern char **environ;

#if defined(__x86_64__) || defined(__aarch64__)
/* The mark by which the library identifies its own calls, once it is known: the sixth argument of every call. */
static long mark;

static long call(long number, long a, long b, long c, long d, long e)
{
#ifdef __x86_64__
    long answer;
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = e;
    register long sixth __asm__("r9") = mark;
    __asm__ volatile("syscall" : "=a"(answer) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
#else
    register long which __asm__("x8") = number;
    register long answer __asm__("x0") = a;
    register long second __asm__("x1") = b, third __asm__("x2") = c, fourth __asm__("x3") = d;
    register long fifth __asm__("x4") = e, sixth __asm__("x5") = mark;
    __asm__ volatile("svc 0" : "+r"(answer) : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "memory");
#endif
    if (answer < 0) {
        errno = (int)-answer;
        return -1;
    }
    return answer;
}

static int done(long answer) { return answer < 0 ? FAILED : DONE; }
static long at(long number, const char *path, long a, long b) { return call(number, AT_FDCWD, (long)path, a, b, 0); }
static int opened(const char *path, int flags)
{
    long fd = at(SYS_openat, path, flags, 0644);
    return fd < 0 ? FAILED : show((int)fd);
}

static int v_open(char **a) { return opened(a[0], O_RDONLY); }
static int v_write(char **a) { return done(at(SYS_openat, a[0], O_WRONLY, 0)); }
static int v_creat(char **a) { return done(at(SYS_openat, a[0], O_WRONLY | O_CREAT | O_TRUNC, 0644)); }
static int v_tmpfile(char **a) { return done(at(SYS_openat, a[0], O_TMPFILE | O_RDWR, 0644)); }
static int v_opendir(char **a) { return done(at(SYS_openat, a[0], O_RDONLY | O_DIRECTORY, 0)); }
static int v_openat2(char **a)
{
    unsigned long how[3] = {O_RDONLY, 0, 0};
    long fd = at(SYS_openat2, a[0], (long)how, sizeof how);
    return fd < 0 ? FAILED : show((int)fd);
}
/* Makes calls as the library from here on. The mark is in the image (`Header`, policy/engine/src/image.rs), which all may
   read. */
static int v_marked(char **a)
{
    const char *handles = getenv("JP_CONFINE");
    (void)a;
    long found = 0;
    if (handles && call(SYS_pread64, atoi(handles), (long)&found, sizeof found, 24, 0) != sizeof found)
        return FAILED;
    mark = found;
    return DONE;
}
static int v_connect(char **a)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    long fd = call(SYS_socket, AF_UNIX, SOCK_DGRAM, 0, 0, 0);
    strncpy(address.sun_path, a[0], sizeof address.sun_path - 1);
    return fd < 0 ? FAILED : done(call(SYS_connect, fd, (long)&address, sizeof address, 0, 0));
}
static int v_watch(char **a)
{
    return done(call(SYS_inotify_add_watch, call(SYS_inotify_init1, 0, 0, 0, 0, 0), (long)a[0], 2, 0, 0));
}

/* Reports to the supervisor as the library does (policy/engine/src/report_protocol.rs), with a chosen reason. */
static int v_tell(char **a)
{
    struct { uint32_t magic, length, pid, rule; uint8_t missing, flags; uint16_t reason, lengths[5], other; } head =
        {0x4556504a, sizeof head, 0, UINT32_MAX, 1, 4, (uint16_t)atoi(a[0]), {0}, 0};
    struct iovec vectors[6] = {{&head, sizeof head}};
    return done(call(0x3fff0000, (long)vectors, 6, 0, 0, 0));
}
static int v_by_descriptor(char **a)
{
    char link[32];
    long fd = at(SYS_openat, a[0], O_PATH, 0);
    if (fd < 0)
        return FAILED;
    const char *from = "/proc/self/fd/";
    int i = 0;
    for (; from[i]; i++)
        link[i] = from[i];
    for (int unit = 1000; unit; unit /= 10)
        if (fd >= unit || unit == 1)
            link[i++] = (char)('0' + fd / unit % 10);
    link[i] = 0;
    return opened(link, O_RDONLY);
}
static int v_after_chdir(char **a)
{
    return call(SYS_chdir, (long)a[0], 0, 0, 0, 0) < 0 ? FAILED : opened(a[1], O_RDONLY);
}
static int v_truncate(char **a) { return done(call(SYS_truncate, (long)a[0], 0, 0, 0, 0)); }
static int v_mkdir(char **a) { return done(at(SYS_mkdirat, a[0], 0755, 0)); }
static int v_mkfifo(char **a) { return done(at(SYS_mknodat, a[0], S_IFIFO | 0644, 0)); }
static int v_unlink(char **a) { return done(at(SYS_unlinkat, a[0], 0, 0)); }
static int v_rmdir(char **a) { return done(at(SYS_unlinkat, a[0], AT_REMOVEDIR, 0)); }
static int v_rename(char **a)
{
    return done(call(SYS_renameat2, AT_FDCWD, (long)a[0], AT_FDCWD, (long)a[1], 0));
}
static int v_link(char **a) { return done(call(SYS_linkat, AT_FDCWD, (long)a[0], AT_FDCWD, (long)a[1], 0)); }
static int v_symlink(char **a) { return done(call(SYS_symlinkat, (long)a[0], AT_FDCWD, (long)a[1], 0, 0)); }
static int v_chmod(char **a) { return done(at(SYS_fchmodat, a[0], 0600, 0)); }
static mode_t mode(const char *text) { return (mode_t)strtoul(text, NULL, 8); }
static int v_chmod_to(char **a) { return done(at(SYS_fchmodat, a[0], mode(a[1]), 0)); }
static int v_fchmod_to(char **a)
{
    long fd = at(SYS_openat, a[0], O_RDONLY, 0);
    return fd < 0 ? FAILED : done(call(SYS_fchmod, fd, mode(a[1]), 0, 0, 0));
}
static int v_fchown(char **a)
{
    long fd = at(SYS_openat, a[0], O_RDONLY, 0);
    return fd < 0 ? FAILED : done(call(SYS_fchown, fd, getuid(), getgid(), 0, 0));
}
static int v_fsetxattr(char **a)
{
    long fd = at(SYS_openat, a[0], O_RDONLY, 0);
    return fd < 0 ? FAILED : done(call(SYS_fsetxattr, fd, (long)"user.k", (long)"v", 1, 0));
}
static int v_open_as(char **a) { return done(at(SYS_openat, a[0], O_WRONLY | O_CREAT, mode(a[1]))); }
static int v_mknod_as(char **a) { return done(at(SYS_mknodat, a[0], S_IFREG | mode(a[1]), 0)); }
static int v_openat2_as(char **a)
{
    unsigned long how[3] = {O_WRONLY | O_CREAT, mode(a[1]), 0};
    return done(at(SYS_openat2, a[0], (long)how, sizeof how));
}
static int v_chown(char **a) { return done(at(SYS_fchownat, a[0], getuid(), getgid())); }
static int v_utimes(char **a) { return done(at(SYS_utimensat, a[0], 0, 0)); }
static int v_setxattr(char **a) { return done(call(SYS_setxattr, (long)a[0], (long)"user.k", (long)"v", 1, 0)); }
static int v_getxattr(char **a)
{
    char value[16] = "";
    if (call(SYS_getxattr, (long)a[0], (long)"user.k", (long)value, sizeof value - 1, 0) < 0)
        return FAILED;
    found(value);
    return DONE;
}
/* Without the slash, as the kernel expects the names of queues. */
static int v_keys(char **a) { (void)a; return done(call(SYS_keyctl, 0, -4, 1, 0, 0)); }
static int v_mq_unlink(char **a) { return done(call(SYS_mq_unlink, (long)(a[0] + 1), 0, 0, 0, 0)); }
static int v_mq_use(char **a) { return done(call(SYS_mq_open, (long)(a[0] + 1), O_RDWR, 0, 0, 0)); }
static int v_mq_open(char **a)
{
    long fd = call(SYS_mq_open, (long)(a[0] + 1), O_CREAT | O_RDWR, 0600, 0, 0);
    return fd < 0 ? FAILED : v_mq_unlink(a);
}
static int v_exec(char **a)
{
    char *line[] = {a[0], "stat", "/", NULL};
    return done(call(SYS_execve, (long)a[0], (long)line, (long)environ, 0, 0));
}

/* Whether a program starts with no environment, and so without the library. */
static int starts(char *path)
{
    char *line[] = {path, NULL}, *nothing[] = {NULL};
    int status = 1;
    pid_t child = fork();
    if (child == 0) {
        call(SYS_execve, (long)path, (long)line, (long)nothing, 0, 0);
        _exit(1);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}
/* Whether a file can be opened or created with these flags. */
static int opens(const char *path, int flags)
{
    long fd = at(SYS_openat, path, flags | O_NONBLOCK, 0644);
    return fd >= 0 && close((int)fd) == 0;
}
/* Prints what can be done to each path of a list, a letter for each capability. Deleting the path comes last. */
static int v_sweep(char **a)
{
    char path[4096], inner[4200];
    FILE *list = fopen(a[0], "r");
    if (!list)
        return FAILED;
    while (fgets(path, sizeof path, list)) {
        struct stat is;
        path[strcspn(path, "\n")] = 0;
        int directory = lstat(path, &is) == 0 && S_ISDIR(is.st_mode);
        snprintf(inner, sizeof inner, "%s/new", path);
        printf("%s ", path);
        if (opens(path, O_RDONLY | (directory ? O_DIRECTORY : 0)))
            putchar('r');
        if (directory && (opens(inner, O_WRONLY | O_CREAT | O_EXCL) || at(SYS_mkdirat, inner, 0755, 0) == 0))
            putchar('c');
        if (!directory && opens(path, O_WRONLY))
            putchar('u');
        if (!directory && starts(path))
            putchar('x');
        if (!directory && at(SYS_unlinkat, path, 0, 0) == 0)
            putchar('d');
        putchar('\n');
    }
    fclose(list);
    return DONE;
}

static int v_unshare(char **a) { (void)a; return done(call(SYS_unshare, CLONE_NEWNS, 0, 0, 0, 0)); }

#else
#define v_open absent
#define v_write absent
#define v_creat absent
#define v_tmpfile absent
#define v_opendir absent
#define v_openat2 absent
#define v_by_descriptor absent
#define v_after_chdir absent
#define v_truncate absent
#define v_mkdir absent
#define v_mkfifo absent
#define v_unlink absent
#define v_rmdir absent
#define v_rename absent
#define v_link absent
#define v_symlink absent
#define v_chmod absent
#define v_chmod_to absent
#define v_fchmod_to absent
#define v_fchown absent
#define v_fsetxattr absent
#define v_open_as absent
#define v_mknod_as absent
#define v_openat2_as absent
#define v_chown absent
#define v_utimes absent
#define v_setxattr absent
#define v_getxattr absent
#define v_keys absent
#define v_mq_unlink absent
#define v_mq_use absent
#define v_mq_open absent
#define v_exec absent
#define v_sweep absent
#define v_unshare absent
#endif

const struct verb instruction_verbs[] = {
    {"i_open", 1, v_open},
    {"i_write", 1, v_write},
    {"i_creat", 1, v_creat},
    {"i_tmpfile", 1, v_tmpfile},
    {"i_opendir", 1, v_opendir},
    {"i_openat2", 1, v_openat2},
    {"i_by_descriptor", 1, v_by_descriptor},
    {"i_after_chdir", 2, v_after_chdir},
    {"i_truncate", 1, v_truncate},
    {"i_mkdir", 1, v_mkdir},
    {"i_mkfifo", 1, v_mkfifo},
    {"i_unlink", 1, v_unlink},
    {"i_rmdir", 1, v_rmdir},
    {"i_rename", 2, v_rename},
    {"i_link", 2, v_link},
    {"i_symlink", 2, v_symlink},
    {"i_chmod", 1, v_chmod},
    {"i_chmod_to", 2, v_chmod_to},
    {"i_fchmod_to", 2, v_fchmod_to},
    {"i_fchown", 1, v_fchown},
    {"i_fsetxattr", 1, v_fsetxattr},
    {"i_open_as", 2, v_open_as},
    {"i_mknod_as", 2, v_mknod_as},
    {"i_openat2_as", 2, v_openat2_as},
    {"i_tell", 1, v_tell},
    {"i_chown", 1, v_chown},
    {"i_utimes", 1, v_utimes},
    {"i_setxattr", 1, v_setxattr},
    {"i_getxattr", 1, v_getxattr},
    {"i_marked", 0, v_marked},
    {"i_connect", 1, v_connect},
    {"i_watch", 1, v_watch},
    {"i_keys", 0, v_keys},
    {"i_mq_open", 1, v_mq_open},
    {"i_mq_use", 1, v_mq_use},
    {"i_mq_unlink", 1, v_mq_unlink},
    {"i_exec", 1, v_exec},
    {"i_sweep", 1, v_sweep},
    {"i_unshare", 0, v_unshare},
    {0},
};
