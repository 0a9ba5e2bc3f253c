/* Calls on the object a path leads to, and on a directory as a whole. */
#include "race.h"
#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <linux/openat2.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

static const struct timespec long_ago[2] = {{1, 0}, {1, 0}};

#define OPENING(name, flags) \
    static int name(const struct target *t) { return openat(t->dirfd, t->file, flags, 0644); }
OPENING(c_read, O_RDONLY)
OPENING(c_write, O_WRONLY)
OPENING(c_read_write, O_RDWR)
OPENING(c_append, O_WRONLY | O_APPEND)
OPENING(c_truncating, O_WRONLY | O_TRUNC)
OPENING(c_reading_truncating, O_RDONLY | O_TRUNC)
OPENING(c_creating, O_WRONLY | O_CREAT)
OPENING(c_creating_truncating, O_WRONLY | O_CREAT | O_TRUNC)
OPENING(c_creating_new, O_WRONLY | O_CREAT | O_EXCL)
OPENING(c_nofollow, O_RDONLY | O_NOFOLLOW)

static int c_open(const struct target *t) { return open(t->file, O_RDONLY); }
static int c_creat(const struct target *t) { return creat(t->file, 0644); }
static int c_sys_open(const struct target *t) { return (int)syscall(SYS_openat, t->dirfd, t->file, O_RDWR); }

static int resolving(const struct target *t, unsigned long flags, unsigned long mode, unsigned long resolve)
{
    struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};
    return (int)syscall(SYS_openat2, t->dirfd, t->file, &how, sizeof how);
}
static int c_openat2(const struct target *t) { return resolving(t, O_RDONLY, 0, 0); }
static int c_openat2_resolve(const struct target *t)
{
    return resolving(t, O_RDONLY, 0, RESOLVE_NO_MAGICLINKS);
}
static int c_openat2_creating(const struct target *t)
{
    return resolving(t, O_WRONLY | O_CREAT, 0644, RESOLVE_NO_MAGICLINKS);
}

/* Turns a descriptor that was opened without access into one for reading. */
static int c_reopen(const struct target *t)
{
    char link[64];
    int held = openat(t->dirfd, t->file, O_PATH);
    if (held < 0)
        return -1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", held);
    int fd = open(link, O_RDONLY), error = errno;
    close(held);
    errno = error;
    return fd;
}

static int descriptor(FILE *file)
{
    if (!file)
        return -1;
    int fd = dup(fileno(file));
    fclose(file);
    return fd;
}
static int c_fopen_r(const struct target *t) { return descriptor(fopen(t->file, "r")); }
static int c_fopen_w(const struct target *t) { return descriptor(fopen(t->file, "w")); }
static int c_fopen_a(const struct target *t) { return descriptor(fopen(t->file, "a+")); }
static int c_freopen(const struct target *t)
{
    FILE *file = fopen("/dev/null", "r");
    return file ? descriptor(freopen(t->file, "r", file)) : -1;
}

static int c_truncate(const struct target *t) { return truncate(t->file, 1); }
static int c_chmod(const struct target *t) { return chmod(t->file, 0600); }
static int c_fchmodat(const struct target *t) { return fchmodat(t->dirfd, t->file, 0600, 0); }
static int c_chown(const struct target *t) { return chown(t->file, geteuid(), getegid()); }
static int c_fchownat(const struct target *t)
{
    return fchownat(t->dirfd, t->file, geteuid(), getegid(), 0);
}
static int c_utimensat(const struct target *t) { return utimensat(t->dirfd, t->file, long_ago, 0); }
static int c_utimes(const struct target *t)
{
    struct timeval times[2] = {{1, 0}, {1, 0}};
    return utimes(t->file, times);
}
static int c_utime(const struct target *t)
{
    struct utimbuf times = {1, 1};
    return utime(t->file, &times);
}

/* Counts up, because a value that is there already would change nothing. */
static int c_setxattr(const struct target *t)
{
    static unsigned value;
    value++;
    return setxattr(t->file, "user.race", &value, sizeof value, 0);
}

/* A missing attribute is an answer from the object, too. */
static int absent_is_fine(ssize_t answer) { return answer < 0 && errno == ENODATA ? 0 : (int)answer; }
static int c_removexattr(const struct target *t) { return absent_is_fine(removexattr(t->file, "user.tag")); }
static int c_getxattr(const struct target *t)
{
    char value[16] = "";
    ssize_t length = getxattr(t->file, "user.tag", value, sizeof value - 1);
    return seems_outside(value) ? LEAKED : absent_is_fine(length);
}

static int finished(pid_t child)
{
    int status;
    if (waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

/* The child says from where it was started. */
static int c_spawn(const struct target *t)
{
    extern char **environ;
    char *line[] = {"run", "where", (char *)t->outside.path, NULL};
    pid_t child;
    if ((errno = posix_spawn(&child, t->run, NULL, NULL, line, environ)))
        return -1;
    return finished(child) == 1 ? LEAKED : 0;
}

/* The child opens the file before it starts. */
static int c_spawn_open(const struct target *t)
{
    extern char **environ;
    char *line[] = {"race", "where", (char *)t->outside.path, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 9, t->file, O_WRONLY | O_TRUNC, 0);
    errno = posix_spawn(&child, self, &actions, NULL, line, environ);
    posix_spawn_file_actions_destroy(&actions);
    return errno ? -1 : finished(child);
}

const struct call object_calls[] = {
    {"open O_RDONLY", OBJECT | OPENS | RELATIVE, c_read},
    {"open O_WRONLY", OBJECT | OPENS | RELATIVE, c_write},
    {"open O_RDWR", OBJECT | OPENS | RELATIVE, c_read_write},
    {"open O_APPEND", OBJECT | OPENS | RELATIVE, c_append},
    {"open O_WRONLY|O_TRUNC", OBJECT | OPENS | RELATIVE, c_truncating},
    {"open O_RDONLY|O_TRUNC", OBJECT | OPENS | RELATIVE, c_reading_truncating},
    {"open O_CREAT", OBJECT | OPENS | RELATIVE, c_creating},
    {"open O_CREAT|O_TRUNC", OBJECT | OPENS | RELATIVE, c_creating_truncating},
    {"open O_CREAT|O_EXCL", OBJECT | OPENS | RELATIVE, c_creating_new},
    {"open O_NOFOLLOW", OBJECT | OPENS | RELATIVE, c_nofollow},
    {"open O_PATH, again", OBJECT | OPENS | RELATIVE, c_reopen},
    {"open, no descriptor", OBJECT | OPENS, c_open},
    {"creat", OBJECT | OPENS, c_creat},
    {"syscall(SYS_openat)", OBJECT | OPENS | RELATIVE, c_sys_open},
    {"openat2", OBJECT | OPENS | RELATIVE, c_openat2},
    {"openat2 RESOLVE", OBJECT | OPENS | RELATIVE, c_openat2_resolve},
    {"openat2 RESOLVE, O_CREAT", OBJECT | OPENS | RELATIVE, c_openat2_creating},
    {"fopen r", OBJECT | OPENS, c_fopen_r},
    {"fopen w", OBJECT | OPENS, c_fopen_w},
    {"fopen a+", OBJECT | OPENS, c_fopen_a},
    {"freopen", OBJECT | OPENS, c_freopen},
    {"truncate", OBJECT, c_truncate},
    {"chmod", OBJECT, c_chmod},
    {"fchmodat", OBJECT | RELATIVE, c_fchmodat},
    {"chown", OBJECT, c_chown},
    {"fchownat", OBJECT | RELATIVE, c_fchownat},
    {"utimensat", OBJECT | RELATIVE, c_utimensat},
    {"utimes", OBJECT, c_utimes},
    {"utime", OBJECT, c_utime},
    {"setxattr", OBJECT, c_setxattr},
    {"removexattr", OBJECT, c_removexattr},
    {"getxattr", OBJECT, c_getxattr},
    {"posix_spawn addopen", OBJECT | SLOW, c_spawn_open},
    {"posix_spawn", ENTRY | SLOW | BY_NAME, c_spawn},
    {0},
};

static int c_open_directory(const struct target *t)
{
    return openat(t->dirfd, t->dir, O_RDONLY | O_DIRECTORY);
}
static int c_tmpfile(const struct target *t) { return openat(t->dirfd, t->dir, O_TMPFILE | O_RDWR, 0600); }

static int c_opendir(const struct target *t)
{
    DIR *dir = opendir(t->dir);
    if (!dir)
        return -1;
    int fd = dup(dirfd(dir));
    closedir(dir);
    return fd;
}

static int c_scandir(const struct target *t)
{
    struct dirent **list;
    int answer = 0, count = scandirat(t->dirfd, t->dir, &list, NULL, NULL);
    if (count < 0)
        return -1;
    while (count--) {
        if (seems_outside(list[count]->d_name))
            answer = LEAKED;
        free(list[count]);
    }
    free(list);
    return answer;
}

static int glob_error;
static int glob_failed(const char *path, int error)
{
    (void)path;
    glob_error = error;
    return 0;
}
static int c_glob(const struct target *t)
{
    char pattern[PATH_MAX + 2];
    glob_t matches;
    snprintf(pattern, sizeof pattern, "%s/*", t->dir);
    glob_error = ENOENT;
    int answer = 0;
    if (glob(pattern, 0, glob_failed, &matches)) {
        errno = glob_error;
        return -1;
    }
    for (size_t i = 0; i < matches.gl_pathc; i++)
        if (seems_outside(matches.gl_pathv[i]))
            answer = LEAKED;
    globfree(&matches);
    return answer;
}

static int found;
static int visit(const char *path, const struct stat *stat, int kind, struct FTW *place)
{
    (void)stat, (void)kind;
    if (seems_outside(path) && place->level > 0)
        found = LEAKED;
    return 0;
}
static int c_nftw(const struct target *t)
{
    found = 0;
    int answer = nftw(t->dir, visit, 8, 0);
    return found ? found : answer;
}

static int c_fts(const struct target *t)
{
    char *roots[] = {(char *)t->dir, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!tree)
        return -1;
    int answer = 0, error = 0;
    for (FTSENT *e; (e = fts_read(tree));) {
        if (seems_outside(e->fts_path) && e->fts_level > 0)
            answer = LEAKED;
        if (e->fts_level == 0 && e->fts_errno)
            error = e->fts_errno;
    }
    fts_close(tree);
    errno = error;
    return error && answer == 0 ? -1 : answer;
}

static int c_chdir(const struct target *t)
{
    int fd = chdir(t->dir) ? -1 : open("x", O_RDWR), error = errno;
    if (chdir(stage))
        return -1;
    errno = error;
    return fd;
}

const struct call directory_calls[] = {
    {"open O_DIRECTORY", DIRECTORY | OPENS | RELATIVE, c_open_directory},
    {"open O_TMPFILE", DIRECTORY | OPENS | RELATIVE, c_tmpfile},
    {"opendir", DIRECTORY | OPENS, c_opendir},
    {"scandirat", DIRECTORY | RELATIVE, c_scandir},
    {"glob", DIRECTORY, c_glob},
    {"nftw", DIRECTORY, c_nftw},
    {"fts_open", DIRECTORY | BY_NAME, c_fts},
    {"chdir, open", DIRECTORY | OPENS | MOVES_HERE, c_chdir},
    {0},
};
