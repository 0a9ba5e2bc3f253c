/* Ways to give a file a mode or an attribute with which it runs with the rights of somebody else. */
#include "attack.h"
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

static mode_t mode(const char *text) { return (mode_t)strtoul(text, NULL, 8); }

/* Shows the present mode of `path`. */
static int shown(const char *path)
{
    struct stat status;
    char text[16];
    if (lstat(path, &status) < 0)
        return FAILED;
    snprintf(text, sizeof text, "%o", status.st_mode & 07777);
    found(text);
    return DONE;
}

static int made(const char *path, int fd)
{
    if (fd < 0)
        return FAILED;
    close(fd);
    return shown(path);
}

static int done(const char *path, int answer) { return answer < 0 ? FAILED : shown(path); }

static int v_chmod(char **a) { return done(a[0], chmod(a[0], mode(a[1]))); }
static int v_fchmodat(char **a) { return done(a[0], fchmodat(AT_FDCWD, a[0], mode(a[1]), 0)); }
static int v_fchmodat2(char **a)
{
    return done(a[0], (int)syscall(452, AT_FDCWD, a[0], mode(a[1]), AT_SYMLINK_NOFOLLOW));
}
static int v_fchmodat2_held(char **a)
{
    int fd = open(a[0], O_PATH);
    return fd < 0 ? FAILED : done(a[0], (int)syscall(452, fd, "", mode(a[1]), AT_EMPTY_PATH));
}
static int v_fchmod(char **a)
{
    int fd = open(a[0], O_RDONLY);
    return fd < 0 ? FAILED : done(a[0], fchmod(fd, mode(a[1])));
}
/* Sets the mode that the new file has already, and then one that it has not. */
static int v_made_for(char **a)
{
    int fd = open(a[0], O_CREAT | O_RDWR | O_EXCL, 0600);
    if (fd < 0 || fchown(fd, geteuid(), getegid()) < 0 || fchmod(fd, 0600) < 0)
        return FAILED;
    return done(a[0], fchmod(fd, mode(a[1])));
}
static int v_open(char **a) { return made(a[0], open(a[0], O_CREAT | O_RDWR | O_EXCL, mode(a[1]))); }
static int v_creat(char **a) { return made(a[0], creat(a[0], mode(a[1]))); }
static int v_openat2(char **a)
{
    uint64_t how[3] = {O_CREAT | O_WRONLY, mode(a[1]), 0};
    return made(a[0], (int)syscall(SYS_openat2, AT_FDCWD, a[0], how, sizeof how));
}
static int v_unnamed(char **a)
{
    char name[64];
    int fd = open(".", O_TMPFILE | O_RDWR, mode(a[1]));
    if (fd < 0)
        return FAILED;
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return done(a[0], linkat(AT_FDCWD, name, AT_FDCWD, a[0], AT_SYMLINK_FOLLOW));
}
static int v_mknod(char **a) { return done(a[0], mknod(a[0], S_IFREG | mode(a[1]), 0)); }
static int v_mkfifo(char **a) { return done(a[0], mkfifo(a[0], mode(a[1]))); }
static int v_mkdir(char **a) { return done(a[0], mkdir(a[0], mode(a[1]))); }

/* Version 2 of the attribute: CAP_NET_RAW, permitted and effective. */
static const uint32_t capability[5] = {0x02000001, 1 << 13, 0, 0, 0};
#define CAPABILITY "security.capability", capability, sizeof capability, 0

static int v_setcap(char **a) { return setxattr(a[0], CAPABILITY); }
static int v_lsetcap(char **a) { return lsetxattr(a[0], CAPABILITY); }
static int v_fsetcap(char **a)
{
    int fd = open(a[0], O_RDONLY);
    return fd < 0 ? FAILED : fsetxattr(fd, CAPABILITY);
}
static int v_setcapat(char **a)
{
    struct { const void *value; uint32_t size, flags; } attribute = {capability, sizeof capability, 0};
    return (int)syscall(463, AT_FDCWD, a[0], 0, "security.capability", &attribute, sizeof attribute);
}

const struct verb mode_verbs[] = {
    {"chmod_to", 2, v_chmod},
    {"fchmodat_to", 2, v_fchmodat},
    {"fchmodat2_to", 2, v_fchmodat2},
    {"fchmodat2_held_to", 2, v_fchmodat2_held},
    {"fchmod_to", 2, v_fchmod},
    {"made_for", 2, v_made_for},
    {"open_as", 2, v_open},
    {"creat_as", 2, v_creat},
    {"openat2_as", 2, v_openat2},
    {"unnamed_as", 2, v_unnamed},
    {"mknod_as", 2, v_mknod},
    {"mkfifo_as", 2, v_mkfifo},
    {"mkdir_as", 2, v_mkdir},
    {"setcap", 1, v_setcap},
    {"lsetcap", 1, v_lsetcap},
    {"fsetcap", 1, v_fsetcap},
    {"setcapat", 1, v_setcapat},
    {0},
};
