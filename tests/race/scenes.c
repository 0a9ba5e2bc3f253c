/* The scenes: the files that they consist of, and what is left of the files after a call. */
#include "race.h"
#include "raw.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct scene scenes[] = {
    {"file-link", EXCHANGE, "@/x", "@/y", "^/dir/x", "@", "@", "^/dir", true, false},
    {"link-retargeted", EXCHANGE, "@/l", "@/y", "^/dir/x", "@", "@", "^/dir", true, false},
    {"link-appears", MOVE, "@/y", "@/x", "^/dir/x", "@", "@", "^/dir", true, false},
    {"dangling-link", EXCHANGE, "@/x", "@/y", "^/dir/new", "@", "@", "^/dir", true, false},
    {"parent-link", EXCHANGE, "@/d", "@/l", "^/dir", "@/d", "@/d", "^/dir", false, false},
    {"deep-parent-link", EXCHANGE, "@/d", "@/l", "^/deep", "@/d/e/f", "@/d/e/f", "^/deep/e/f", false,
     false},
    {"parent-moved-out", EXCHANGE, "@/d", "^/park/l", "^/dir", "@/d", "@/d", "^/dir", false, false},
    {"above-moved-out", MOVE, "@/d", "^/up/d", NULL, "@/d/s/../s/../s/../s/../s/../..", "@", "^/up", false,
     true},
    {"above-working-directory", EXCHANGE, "@/a", "@/l", "^/deep", "../f", "@/a/e/f", "^/deep/e/f", false,
     false},
    {"working-directory", WORKING_DIR, "@/d", "^/dir", NULL, ".", "@/d", "^/dir", false, false},
    {"descriptor", DESCRIPTOR, "@/d", "^/dir", NULL, ".", "@/d", "^/dir", false, false},
    {"pinned-descriptor", PIN, "@/d", "^/dir", NULL, "@/d/sub/..", "@/d", "^/dir", false, false},
    {0},
};

char stage[PATH_MAX], outside[PATH_MAX];

const char *expand(const char *pattern, char *to)
{
    const char *base = *pattern == '@' ? stage : *pattern == '^' ? outside : "";
    snprintf(to, PATH_MAX, "%s%s", base, pattern + (*base ? 1 : 0));
    return to;
}

bool seems_outside(const char *name)
{
    const char *last = strrchr(name, '/');
    return strcmp(last ? last + 1 : name, "outside") == 0;
}

static int make_file(int dir, const char *name, const char *text)
{
    int fd = (int)RAW(openat, dir, name, O_RDWR | O_CREAT | O_CLOEXEC, 0644, 0);
    RAW(write, fd, text, strlen(text), 0, 0);
    /* Where the filesystem has no such attributes, the calls on them fail in either place. */
    RAW(fsetxattr, fd, "user.tag", text, strlen(text), 0);
    RAW(close, fd, 0, 0, 0, 0);
    return (int)RAW(openat, dir, name, O_PATH | O_CLOEXEC, 0, 0);
}

static void copy_self(int dir)
{
    char bytes[65536];
    long count;
    int from = (int)RAW(openat, AT_FDCWD, "/proc/self/exe", O_RDONLY | O_CLOEXEC, 0, 0);
    int to = (int)RAW(openat, dir, "run", O_WRONLY | O_CREAT | O_CLOEXEC, 0755, 0);
    while ((count = RAW(read, from, bytes, sizeof bytes, 0, 0)) > 0)
        RAW(write, to, bytes, count, 0, 0);
    RAW(close, from, 0, 0, 0, 0);
    RAW(close, to, 0, 0, 0, 0);
}

static void look(int fd, struct stat *to)
{
    RAW(fstat, fd, to, 0, 0, 0);
}

void rebuild_place(struct place *place, const char *tag)
{
    RAW(unlinkat, place->dir, "new", 0, 0, 0);
    RAW(unlinkat, place->dir, "new", AT_REMOVEDIR, 0, 0);
    RAW(mkdirat, place->dir, "sub", 0755, 0, 0);
    if (place->file >= 0)
        RAW(close, place->file, 0, 0, 0, 0);
    place->file = make_file(place->dir, "x", tag);
    look(place->file, &place->file_is);
    look(place->dir, &place->dir_is);
}

static void make_directories(const char *path)
{
    char part[PATH_MAX];
    for (size_t end = 1; end <= strlen(path); end++)
        if (path[end] == '/' || path[end] == 0) {
            snprintf(part, sizeof part, "%.*s", (int)end, path);
            RAW(mkdirat, AT_FDCWD, part, 0755, 0, 0);
        }
}

void build_place(const char *path, const char *tag, struct place *place)
{
    snprintf(place->path, sizeof place->path, "%s", path);
    make_directories(path);
    place->dir = (int)RAW(openat, AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, 0);
    place->file = -1;
    copy_self(place->dir);
    int name = make_file(place->dir, tag, tag);
    RAW(close, name, 0, 0, 0, 0);
    rebuild_place(place, tag);
}

static void path_in(char *to, const char *dir, const char *name)
{
    bool here = strcmp(dir, ".") == 0;
    snprintf(to, PATH_MAX, "%s%s%s", here ? "" : dir, here ? "" : "/", name);
}

/* The names that calls use for the objects of the scene. */
static void name_target(const struct scene *scene, struct target *target)
{
    expand(scene->path, target->dir);
    path_in(target->file, target->dir, strcmp(scene->name, "link-retargeted") ? "x" : "l");
    path_in(target->new, target->dir, "new");
    path_in(target->sub, target->dir, "sub");
    path_in(target->run, target->dir, "run");
}

void set_scene(const struct scene *scene, struct target *target)
{
    char path[PATH_MAX], link[PATH_MAX], stem[PATH_MAX];
    static int number;
    static char workspace[PATH_MAX], beyond[PATH_MAX];
    if (number++ == 0) {
        strcpy(workspace, stage);
        strcpy(beyond, outside);
    }
    snprintf(stem, sizeof stem, "/%d", number);
    snprintf(stage, sizeof stage, "%.2000s%.20s", workspace, stem);
    snprintf(outside, sizeof outside, "%.2000s%.20s", beyond, stem);

    target->scene = scene;
    target->dirfd = AT_FDCWD;
    make_directories(expand("^/park", path));
    make_directories(expand("@/own", path));
    build_place(expand(scene->inside, path), "inside", &target->inside);
    build_place(expand(scene->outside, path), "outside", &target->outside);
    make_directories(expand("@/d/s", path));
    if (scene->link) {
        RAW(unlinkat, AT_FDCWD, expand(scene->second, path), 0, 0, 0);
        RAW(symlinkat, expand(scene->link, link), AT_FDCWD, path, 0, 0);
    }
    if (strcmp(scene->name, "link-retargeted") == 0)
        RAW(symlinkat, "x", AT_FDCWD, expand(scene->first, path), 0, 0);
    name_target(scene, target);
    snprintf(target->own, PATH_MAX, "%.2000s/own/file", stage);
    snprintf(target->got, PATH_MAX, "%.2000s/own/got", stage);
    if (*scene->path == '.' && chdir(target->inside.path))
        perror("race: chdir");
    if (scene->swap == DESCRIPTOR)
        target->dirfd = (int)RAW(openat, AT_FDCWD, target->inside.path, O_RDONLY | O_DIRECTORY, 0, 0);
    tidy(target);
    rebuild_place(&target->outside, "outside");
}

void tidy(const struct target *target)
{
    int dir = target->inside.dir;
    RAW(unlinkat, dir, "new", 0, 0, 0);
    RAW(unlinkat, dir, "new", AT_REMOVEDIR, 0, 0);
    RAW(mkdirat, dir, "sub", 0755, 0, 0);
    if (!target->scene->last)
        RAW(mknodat, dir, "x", S_IFREG | 0644, 0, 0);
    RAW(unlinkat, AT_FDCWD, target->got, 0, 0, 0);
    RAW(mknodat, AT_FDCWD, target->own, S_IFREG | 0644, 0, 0);
}

static bool differs(const struct stat *was, const struct stat *is)
{
    return was->st_ctim.tv_sec != is->st_ctim.tv_sec || was->st_ctim.tv_nsec != is->st_ctim.tv_nsec
           || was->st_nlink != is->st_nlink || was->st_size != is->st_size;
}

bool canary_changed(struct target *target)
{
    struct stat dir, file, new;
    struct place *canary = &target->outside;
    look(canary->dir, &dir);
    look(canary->file, &file);
    bool changed = differs(&canary->file_is, &file);
    if (!target->scene->outside_changes)
        changed |= differs(&canary->dir_is, &dir);
    else
        changed |= RAW(newfstatat, canary->dir, "new", &new, AT_SYMLINK_NOFOLLOW, 0) == 0;
    if (changed) {
        rebuild_place(canary, "outside");
        RAW(unlinkat, AT_FDCWD, target->got, 0, 0, 0);
        RAW(unlinkat, AT_FDCWD, target->own, 0, 0, 0);
        tidy(target);
    }
    return changed;
}

static bool leads_to_canary(const struct place *canary, int fd)
{
    char link[64], path[PATH_MAX] = "";
    struct stat is;
    if (RAW(fcntl, fd, F_GETFL, 0, 0, 0) & O_PATH)
        return false;
    look(fd, &is);
    if (is.st_dev == canary->file_is.st_dev
        && (is.st_ino == canary->file_is.st_ino || is.st_ino == canary->dir_is.st_ino))
        return true;
    if (is.st_nlink != 0)
        return false;
    /* A file without a name. The kernel shows it below the directory where it was created. */
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    RAW(readlinkat, AT_FDCWD, link, path, sizeof path - 1, 0);
    size_t length = strlen(canary->path);
    return strncmp(path, canary->path, length) == 0 && path[length] == '/';
}

/* Looks at a copy: a swapper may replace the descriptor itself. */
bool is_canary(const struct target *target, int fd)
{
    int copy = (int)RAW(fcntl, fd, F_DUPFD_CLOEXEC, 100, 0, 0);
    bool is = copy >= 0 && leads_to_canary(&target->outside, copy);
    RAW(close, copy, 0, 0, 0, 0);
    return is;
}
