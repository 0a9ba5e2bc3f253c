/* Calls that change the entries of a directory. */
#include "race.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

static int c_mkdir(const struct target *t) { return mkdir(t->new, 0755); }
static int c_mkdirat(const struct target *t) { return mkdirat(t->dirfd, t->new, 0755); }
static int c_mknodat(const struct target *t) { return mknodat(t->dirfd, t->new, S_IFREG | 0644, 0); }
static int c_mkfifo(const struct target *t) { return mkfifo(t->new, 0644); }
static int c_symlink(const struct target *t) { return symlink("nowhere", t->new); }
static int c_symlinkat(const struct target *t) { return symlinkat("nowhere", t->dirfd, t->new); }
static int c_creat(const struct target *t) { return creat(t->new, 0644); }
static int c_exclusive(const struct target *t)
{
    return openat(t->dirfd, t->new, O_WRONLY | O_CREAT | O_EXCL, 0644);
}
static int c_fopen(const struct target *t)
{
    FILE *file = fopen(t->new, "w");
    return file ? fclose(file) : -1;
}

/* Files with generated names are removed again, wherever they are. */
static int c_mkstemp(const struct target *t)
{
    char name[PATH_MAX + 8];
    snprintf(name, sizeof name, "%sXXXXXX", t->new);
    int fd = mkstemp(name);
    if (fd >= 0)
        unlink(name);
    return fd;
}
static int c_mkdtemp(const struct target *t)
{
    char name[PATH_MAX + 8];
    snprintf(name, sizeof name, "%sXXXXXX", t->new);
    if (!mkdtemp(name))
        return -1;
    rmdir(name);
    return 0;
}

static int c_link_to(const struct target *t) { return linkat(AT_FDCWD, t->own, t->dirfd, t->new, 0); }
static int c_link_from(const struct target *t) { return linkat(t->dirfd, t->file, AT_FDCWD, t->got, 0); }
static int c_link_follow(const struct target *t)
{
    return linkat(t->dirfd, t->file, AT_FDCWD, t->got, AT_SYMLINK_FOLLOW);
}
static int c_rename_to(const struct target *t) { return renameat(AT_FDCWD, t->own, t->dirfd, t->file); }
static int c_rename_from(const struct target *t) { return renameat(t->dirfd, t->file, AT_FDCWD, t->got); }
static int c_rename_within(const struct target *t) { return rename(t->file, t->new); }
static int c_rename_directory(const struct target *t) { return rename(t->sub, t->new); }
static int c_noreplace(const struct target *t)
{
    return renameat2(AT_FDCWD, t->own, t->dirfd, t->new, RENAME_NOREPLACE);
}
static int c_exchange(const struct target *t)
{
    return renameat2(AT_FDCWD, t->own, t->dirfd, t->file, RENAME_EXCHANGE);
}
static int c_sys_rename(const struct target *t)
{
    return (int)syscall(SYS_renameat2, t->dirfd, t->file, AT_FDCWD, t->got, 0);
}

static int c_unlink(const struct target *t) { return unlink(t->file); }
static int c_unlinkat(const struct target *t) { return unlinkat(t->dirfd, t->file, 0); }
static int c_remove(const struct target *t) { return remove(t->file); }
static int c_rmdir(const struct target *t) { return rmdir(t->sub); }
static int c_sys_unlink(const struct target *t) { return (int)syscall(SYS_unlinkat, t->dirfd, t->file, 0); }

static int c_lchown(const struct target *t) { return lchown(t->file, geteuid(), getegid()); }
static int c_lsetxattr(const struct target *t) { return lsetxattr(t->file, "user.race", "v", 1, 0); }

static int c_bind(const struct target *t)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(t->new) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, t->new);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    int answer = bind(fd, (struct sockaddr *)&address, sizeof address), error = errno;
    close(fd);
    errno = error;
    return answer;
}

const struct call entry_calls[] = {
    {"mkdir", ENTRY, c_mkdir},
    {"mkdirat", ENTRY | RELATIVE, c_mkdirat},
    {"mknodat", ENTRY | RELATIVE, c_mknodat},
    {"mkfifo", ENTRY, c_mkfifo},
    {"symlink", ENTRY, c_symlink},
    {"symlinkat", ENTRY | RELATIVE, c_symlinkat},
    {"creat, new", ENTRY | OPENS, c_creat},
    {"open O_EXCL, new", ENTRY | OPENS | RELATIVE, c_exclusive},
    {"fopen w, new", ENTRY, c_fopen},
    {"mkstemp", ENTRY | OPENS, c_mkstemp},
    {"mkdtemp", ENTRY, c_mkdtemp},
    {"linkat, target", ENTRY | RELATIVE, c_link_to},
    {"linkat, source", ENTRY | RELATIVE, c_link_from},
    {"linkat FOLLOW", OBJECT | RELATIVE, c_link_follow},
    {"renameat, target", ENTRY | RELATIVE, c_rename_to},
    {"renameat, source", ENTRY | RELATIVE, c_rename_from},
    {"rename, both", ENTRY, c_rename_within},
    {"rename, directory", ENTRY, c_rename_directory},
    {"renameat2 NOREPLACE", ENTRY | RELATIVE, c_noreplace},
    {"renameat2 EXCHANGE", ENTRY | RELATIVE, c_exchange},
    {"syscall(SYS_renameat2)", ENTRY | RELATIVE, c_sys_rename},
    {"unlink", ENTRY, c_unlink},
    {"unlinkat", ENTRY | RELATIVE, c_unlinkat},
    {"syscall(SYS_unlinkat)", ENTRY | RELATIVE, c_sys_unlink},
    {"remove", ENTRY, c_remove},
    {"rmdir", ENTRY, c_rmdir},
    {"lchown", ENTRY, c_lchown},
    {"lsetxattr", ENTRY, c_lsetxattr},
    {"bind", ENTRY | BY_NAME, c_bind},
    {0},
};
