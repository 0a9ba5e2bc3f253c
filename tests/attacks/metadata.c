/* Ways to change a file without opening it for writing. */
#include "attack.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

static const struct timespec long_ago[2] = {{1, 0}, {1, 0}};

static int v_stat(char **a)
{
    struct stat stat_buffer;
    return stat(a[0], &stat_buffer);
}
static int v_access(char **a) { return access(a[0], F_OK); }
static int v_chdir_only(char **a) { return chdir(a[0]); }

static int v_readlink(char **a)
{
    char target[200];
    ssize_t length = readlink(a[0], target, sizeof target - 1);
    if (length < 0)
        return FAILED;
    target[length] = 0;
    found(target);
    return DONE;
}

static int v_truncate(char **a) { return truncate(a[0], 1); }
static int v_chmod(char **a) { return chmod(a[0], 0600); }
static int v_fchmodat(char **a) { return fchmodat(AT_FDCWD, a[0], 0600, 0); }
static int v_chown(char **a) { return chown(a[0], geteuid(), getegid()); }
static int v_lchown(char **a) { return lchown(a[0], geteuid(), getegid()); }
static int v_fchownat(char **a) { return fchownat(AT_FDCWD, a[0], geteuid(), getegid(), 0); }
static int v_utimensat(char **a) { return utimensat(AT_FDCWD, a[0], long_ago, 0); }
static int v_utimensat_held(char **a)
{
    int fd = open(a[0], O_PATH);
    return fd < 0 ? FAILED : utimensat(fd, "", long_ago, AT_EMPTY_PATH);
}
static int v_fchownat_held(char **a)
{
    int fd = open(a[0], O_PATH);
    return fd < 0 ? FAILED : fchownat(fd, "", geteuid(), getegid(), AT_EMPTY_PATH);
}
static int v_utimes(char **a)
{
    struct timeval times[2] = {{1, 0}, {1, 0}};
    return utimes(a[0], times);
}
static int v_utime(char **a)
{
    struct utimbuf times = {1, 1};
    return utime(a[0], &times);
}

static int v_setxattr(char **a) { return setxattr(a[0], a[1], "v", 1, 0); }
static int v_lsetxattr(char **a) { return lsetxattr(a[0], a[1], "v", 1, 0); }
static int v_removexattr(char **a) { return removexattr(a[0], a[1]); }
/* Calls of Linux 6.13 and 6.17. libc has no functions for them. */
static int v_removexattrat(char **a) { return syscall(466, AT_FDCWD, a[0], 0L, a[1]) < 0 ? FAILED : DONE; }
static int v_file_getattr(char **a)
{
    unsigned long attributes[3];
    return syscall(468, AT_FDCWD, a[0], attributes, sizeof attributes, 0L) < 0 ? FAILED : DONE;
}
static int v_getxattr(char **a)
{
    char value[200] = "";
    ssize_t length = getxattr(a[0], a[1], value, sizeof value - 1);
    if (length < 0)
        return FAILED;
    found(value);
    return DONE;
}
static int v_listxattr(char **a)
{
    char names[200] = "";
    if (listxattr(a[0], names, sizeof names - 1) < 0)
        return FAILED;
    found(names);
    return DONE;
}

/* A descriptor for reading is enough for these calls. */
static int v_fchmod(char **a)
{
    int fd = open(a[0], O_RDONLY);
    return fd < 0 ? FAILED : fchmod(fd, 0600);
}
/* touch(1) and cp(1) do this with the files that they write. */
static int v_touch(char **a)
{
    int fd = open(a[0], O_WRONLY | O_CREAT, 0644);
    return fd < 0 || futimens(fd, long_ago) < 0 ? FAILED : fchmod(fd, 0600);
}
static int v_fchown(char **a)
{
    int fd = open(a[0], O_RDONLY);
    return fd < 0 ? FAILED : fchown(fd, geteuid(), getegid());
}
static int v_futimens(char **a)
{
    int fd = open(a[0], O_RDONLY);
    return fd < 0 ? FAILED : futimens(fd, long_ago);
}
static int v_fsetxattr(char **a)
{
    int fd = open(a[0], O_RDONLY);
    return fd < 0 ? FAILED : fsetxattr(fd, a[1], "v", 1, 0);
}

const struct verb metadata_verbs[] = {
    {"stat", 1, v_stat},
    {"access", 1, v_access},
    {"chdir_only", 1, v_chdir_only},
    {"readlink", 1, v_readlink},
    {"truncate", 1, v_truncate},
    {"chmod", 1, v_chmod},
    {"fchmodat", 1, v_fchmodat},
    {"chown", 1, v_chown},
    {"lchown", 1, v_lchown},
    {"fchownat", 1, v_fchownat},
    {"utimensat", 1, v_utimensat},
    {"utimensat_held", 1, v_utimensat_held},
    {"fchownat_held", 1, v_fchownat_held},
    {"utimes", 1, v_utimes},
    {"utime", 1, v_utime},
    {"setxattr", 2, v_setxattr},
    {"lsetxattr", 2, v_lsetxattr},
    {"removexattr", 2, v_removexattr},
    {"removexattrat", 2, v_removexattrat},
    {"file_getattr", 1, v_file_getattr},
    {"getxattr", 2, v_getxattr},
    {"listxattr", 1, v_listxattr},
    {"fchmod", 1, v_fchmod},
    {"touch", 1, v_touch},
    {"fchown", 1, v_fchown},
    {"futimens", 1, v_futimens},
    {"fsetxattr", 2, v_fsetxattr},
    {0},
};
