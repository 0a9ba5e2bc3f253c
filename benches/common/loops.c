/* Tight loops over one call. Prints the nanoseconds that one round of the loop took.
 *
 *   loops KIND COUNT PATH
 *   loops least-KIND COUNT PATH
 *
 * The second form makes the fewest system calls by which a library can act on what it judged and on nothing else. It
 * does not judge. Any further cost of a mediated call is the library's own.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void must(int good, const char *what)
{
    if (!good) {
        perror(what);
        exit(1);
    }
}

static int plain_open(const char *path)
{
    return open(path, O_RDONLY);
}

/* Opens so that no symlink may be on the way, or so that the way may not leave the directory. */
static int open_how(int dirfd, const char *path, int flags, unsigned long long resolve)
{
    struct open_how how = { .flags = (unsigned)(flags | O_CLOEXEC), .resolve = resolve };
    return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof how);
}

/* Holds the directory of `path`, and sets `name` to the last name. */
static int hold(const char *path, const char **name)
{
    char folder[4096];
    *name = strrchr(path, '/') + 1;
    size_t length = (size_t)(*name - path - 1);
    memcpy(folder, path, length);
    folder[length] = '\0';
    int held = open_how(AT_FDCWD, folder, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
    must(held >= 0, folder);
    return held;
}

/* No symlink may be on the way that was judged. If one is, which is remembered, the kernel must stay below the
   directory. */
static int least_open(const char *path)
{
    static int is_by_link;
    const char *name;
    if (!is_by_link) {
        int fd = open_how(AT_FDCWD, path, O_RDONLY, RESOLVE_NO_SYMLINKS);
        if (fd >= 0 || errno != ELOOP)
            return fd;
        is_by_link = 1;
    }
    int held = hold(path, &name);
    int fd = open_how(held, name, O_RDONLY, RESOLVE_BENEATH);
    close(held);
    return fd;
}

static int least_unlink(const char *path)
{
    const char *name;
    int held = hold(path, &name);
    int failed = unlinkat(held, name, 0);
    close(held);
    return failed;
}

/* Both names are in one directory. */
static int least_rename(const char *from, const char *to)
{
    const char *name;
    int held = hold(from, &name);
    int failed = renameat(held, name, held, strrchr(to, '/') + 1);
    close(held);
    return failed;
}

static const struct calls {
    int (*open)(const char *path);
    int (*unlink)(const char *path);
    int (*rename)(const char *from, const char *to);
} ordinary = { plain_open, unlink, rename }, least = { least_open, least_unlink, least_rename };

static void make(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0644);
    must(fd >= 0 && close(fd) == 0, path);
}

static double unlinking(const struct calls *calls, long count, const char *folder)
{
    char name[8192];
    double spent = 0;
    for (long done = 0; done < count; done += 100) {
        for (int i = 0; i < 100; i++) {
            snprintf(name, sizeof name, "%s/unlinked%d", folder, i);
            make(name);
        }
        double start = now();
        for (int i = 0; i < 100; i++) {
            snprintf(name, sizeof name, "%s/unlinked%d", folder, i);
            must(calls->unlink(name) == 0, "unlink");
        }
        spent += now() - start;
    }
    return spent;
}

static double renaming(const struct calls *calls, long count, const char *folder)
{
    char name[8192], other[8192];
    snprintf(name, sizeof name, "%s/renamed", folder);
    snprintf(other, sizeof other, "%s/renamed2", folder);
    make(name);
    double start = now();
    for (long i = 0; i < count; i += 2)
        must(calls->rename(name, other) == 0 && calls->rename(other, name) == 0, "rename");
    return now() - start;
}

static double looking(long count, const char *path)
{
    struct stat status;
    double start = now();
    for (long i = 0; i < count; i++)
        must(stat(path, &status) == 0, "stat");
    return now() - start;
}

static double opening(const struct calls *calls, long count, const char *path)
{
    double start = now();
    for (long i = 0; i < count; i++) {
        int fd = calls->open(path);
        must(fd >= 0 && close(fd) == 0, "open");
    }
    return now() - start;
}

static double starting(long count, char *program)
{
    char *line[] = { program, NULL };
    pid_t child;
    int status;
    double start = now();
    for (long i = 0; i < count; i++) {
        must(posix_spawn(&child, program, NULL, NULL, line, environ) == 0, program);
        must(waitpid(child, &status, 0) == child && status == 0, "wait");
    }
    return now() - start;
}

/* A relative path is judged as an absolute one, and the working directory may change before it is used. */
static const char *absolute(const char *path)
{
    static char whole[8192];
    char here[4096];
    must(getcwd(here, sizeof here) != NULL, "getcwd");
    snprintf(whole, sizeof whole, "%s/%s", here, path);
    return *path == '/' ? path : whole;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    const char *kind = argv[1], *path = argv[3];
    const struct calls *calls = &ordinary;
    if (strncmp(kind, "least-", 6) == 0) {
        kind += 6;
        calls = &least;
        path = absolute(path);
    }
    long count = atol(argv[2]);
    double spent;
    if (strcmp(kind, "unlink") == 0)
        spent = unlinking(calls, count, path);
    else if (strcmp(kind, "rename") == 0)
        spent = renaming(calls, count, path);
    else if (strcmp(kind, "stat") == 0)
        spent = looking(count, path);
    else if (strcmp(kind, "open") == 0)
        spent = opening(calls, count, path);
    else if (strcmp(kind, "exec") == 0)
        spent = starting(count, argv[3]);
    else
        return 2;
    printf("%.1f\n", spent / (double)count);
    return 0;
}
