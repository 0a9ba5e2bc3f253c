/* Ways to get at a file's content or a directory's names. */
#include "attack.h"
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "absent.h"

static int shown(int fd) { return fd < 0 ? FAILED : show(fd); }

static int scribbled(int fd)
{
    if (fd < 0)
        return FAILED;
    int answer = write(fd, "scribble\n", 9) == 9 ? DONE : FAILED;
    close(fd);
    return answer;
}

static int closed(int fd) { return fd < 0 ? FAILED : close(fd); }

static int v_open(char **a) { return shown(open(a[0], O_RDONLY)); }
static int v_open64(char **a) { return shown(open64(a[0], O_RDONLY)); }
static int v_openat(char **a) { return shown(openat(AT_FDCWD, a[0], O_RDONLY)); }
static int v_openat_fd(char **a) { return shown(openat(atoi(a[0]), a[1], O_RDONLY)); }
static int v_read_fd(char **a) { return show(dup(atoi(a[0]))); }
static int v_open_dir(char **a) { return closed(open(a[0], O_RDONLY | O_DIRECTORY)); }

static int v_sys_open(char **a) { return shown((int)syscall(SYS_open, a[0], O_RDONLY)); }
static int v_sys_openat(char **a) { return shown((int)syscall(SYS_openat, AT_FDCWD, a[0], O_RDONLY)); }
static int v_sys_creat(char **a) { return closed((int)syscall(SYS_creat, a[0], 0644)); }
static int v_sys_openat2(char **a)
{
    struct { uint64_t flags, mode, resolve; } how = {.flags = O_RDONLY}; /* struct open_how */
    return shown((int)syscall(SYS_openat2, AT_FDCWD, a[0], &how, sizeof how));
}

static int v_write(char **a) { return scribbled(open(a[0], O_WRONLY)); }
static int v_append(char **a) { return scribbled(open(a[0], O_WRONLY | O_APPEND)); }
static int v_rdwr(char **a) { return scribbled(open(a[0], O_RDWR)); }
static int v_read_trunc(char **a) { return closed(open(a[0], O_RDONLY | O_TRUNC)); }
static int v_write_trunc(char **a) { return scribbled(open(a[0], O_WRONLY | O_TRUNC)); }
static int v_write_creat(char **a) { return scribbled(open(a[0], O_WRONLY | O_CREAT, 0644)); }
static int v_write_excl(char **a) { return scribbled(open(a[0], O_WRONLY | O_CREAT | O_EXCL, 0644)); }
static int v_rdwr_creat(char **a) { return scribbled(open(a[0], O_RDWR | O_CREAT, 0644)); }
static int v_read_creat(char **a) { return shown(open(a[0], O_RDONLY | O_CREAT, 0644)); }
static int v_creat(char **a) { return scribbled(creat(a[0], 0644)); }

/* Opens with flags that are spelled as in `rdwr+creat`. */
static int v_open_with(char **a)
{
    static const struct { const char *name; int flag; } flags[] = {
        {"rdonly", O_RDONLY}, {"wronly", O_WRONLY},     {"rdwr", O_RDWR},           {"path", O_PATH},
        {"creat", O_CREAT},   {"excl", O_EXCL},         {"trunc", O_TRUNC},         {"append", O_APPEND},
        {"tmpfile", O_TMPFILE}, {"nofollow", O_NOFOLLOW}, {"directory", O_DIRECTORY},
    };
    int chosen = O_NONBLOCK;
    char *rest = a[0];
    for (char *name; (name = strtok_r(rest, "+", &rest));)
        for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
            if (strcmp(flags[i].name, name) == 0)
                chosen |= flags[i].flag;
    return closed(open(a[1], chosen, 0644));
}

/* Turns a descriptor that was opened without access into one for reading. */
static int v_path_reopen(char **a)
{
    char link[64];
    int fd = open(a[0], O_PATH);
    if (fd < 0)
        return FAILED;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return shown(open(link, O_RDONLY));
}

static int v_path_openat(char **a)
{
    int fd = open(a[0], O_PATH | O_DIRECTORY);
    return fd < 0 ? FAILED : shown(openat(fd, a[1], O_RDONLY));
}

static int v_tmpfile_in(char **a) { return scribbled(open(a[0], O_TMPFILE | O_WRONLY, 0644)); }
static int v_tmpfile_link(char **a)
{
    char link[64];
    int fd = open(a[0], O_TMPFILE | O_WRONLY, 0644);
    if (fd < 0)
        return FAILED;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, link, AT_FDCWD, a[1], AT_SYMLINK_FOLLOW);
}

static int stream(FILE *file)
{
    char text[200] = "";
    if (!file)
        return FAILED;
    if (fgets(text, sizeof text, file))
        found(text);
    fclose(file);
    return DONE;
}

static int v_fopen(char **a) { return stream(fopen(a[0], "r")); }
static int v_fopen64(char **a) { return stream(fopen64(a[0], "r")); }
static int v_freopen(char **a) { return stream(freopen(a[0], "r", stdin)); }
static int v_fopen_w(char **a)
{
    FILE *file = fopen(a[0], "w");
    return file ? fclose(file) : FAILED;
}
static int v_freopen_w(char **a)
{
    FILE *file = freopen(a[0], "w", stdin);
    return file ? fclose(file) : FAILED;
}

static int entries(DIR *dir)
{
    char names[200] = "";
    if (!dir)
        return FAILED;
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.' && strlen(names) + strlen(e->d_name) + 2 < sizeof names)
            strcat(strcat(names, e->d_name), " ");
    closedir(dir);
    found(names);
    return DONE;
}

static int v_opendir(char **a) { return entries(opendir(a[0])); }
static int v_fdopendir(char **a)
{
    int fd = open(a[0], O_RDONLY | O_DIRECTORY);
    return fd < 0 ? FAILED : entries(fdopendir(fd));
}

static int v_scandir(char **a)
{
    struct dirent **list;
    int count = scandir(a[0], &list, NULL, alphasort);
    if (count < 0)
        return FAILED;
    for (int i = 0; i < count; i++)
        if (list[i]->d_name[0] != '.')
            found(list[i]->d_name);
    return DONE;
}

/* By default, glob hides errors. If nothing matches, the answer is the error that caused that. */
static int glob_error;
static int glob_failed(const char *path, int error)
{
    (void)path;
    glob_error = error;
    return 0;
}
static int v_glob(char **a)
{
    glob_t matches;
    glob_error = ENOENT;
    if (glob(a[0], 0, glob_failed, &matches) != 0) {
        errno = glob_error;
        return FAILED;
    }
    found(matches.gl_pathv[0]);
    return DONE;
}

static int walked;
static int visit(const char *path, const struct stat *stat, int kind, struct FTW *place)
{
    (void)stat, (void)path;
    walked += place->level > 0 && kind != FTW_DNR && kind != FTW_NS;
    return 0;
}
static int v_nftw(char **a)
{
    errno = 0;
    if (nftw(a[0], visit, 8, FTW_PHYS) != 0)
        return FAILED;
    if (walked)
        return DONE;
    errno = EACCES;
    return FAILED;
}

#ifdef __GLIBC__
#include <fts.h>
static int v_fts(char **a)
{
    char *roots[] = {a[0], NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!tree)
        return FAILED;
    int names = 0, error = ENOENT;
    for (FTSENT *e; (e = fts_read(tree));) {
        if (e->fts_level > 0 && e->fts_info != FTS_NS)
            names++;
        else if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS)
            error = e->fts_errno;
    }
    fts_close(tree);
    errno = error;
    return names ? DONE : FAILED;
}
#else
#define v_fts absent
#endif

static int v_mkstemp(char **a) { return closed(mkstemp(a[0])); }
static int v_mkostemp(char **a) { return closed(mkostemp(a[0], O_CLOEXEC)); }
static int v_mkstemps(char **a) { return closed(mkstemps(a[0], 2)); }
static int v_mkdtemp(char **a) { return mkdtemp(a[0]) ? DONE : FAILED; }

const struct verb open_verbs[] = {
    {"open", 1, v_open},
    {"open_with", 2, v_open_with},
    {"open64", 1, v_open64},
    {"openat", 1, v_openat},
    {"openat_fd", 2, v_openat_fd},
    {"read_fd", 1, v_read_fd},
    {"open_dir", 1, v_open_dir},
    {"sys_open", 1, v_sys_open},
    {"sys_openat", 1, v_sys_openat},
    {"sys_openat2", 1, v_sys_openat2},
    {"sys_creat", 1, v_sys_creat},
    {"write", 1, v_write},
    {"append", 1, v_append},
    {"rdwr", 1, v_rdwr},
    {"read_trunc", 1, v_read_trunc},
    {"write_trunc", 1, v_write_trunc},
    {"write_creat", 1, v_write_creat},
    {"write_excl", 1, v_write_excl},
    {"rdwr_creat", 1, v_rdwr_creat},
    {"read_creat", 1, v_read_creat},
    {"creat", 1, v_creat},
    {"path_reopen", 1, v_path_reopen},
    {"path_openat", 2, v_path_openat},
    {"tmpfile_in", 1, v_tmpfile_in},
    {"tmpfile_link", 2, v_tmpfile_link},
    {"fopen", 1, v_fopen},
    {"fopen64", 1, v_fopen64},
    {"fopen_w", 1, v_fopen_w},
    {"freopen", 1, v_freopen},
    {"freopen_w", 1, v_freopen_w},
    {"opendir", 1, v_opendir},
    {"fdopendir", 1, v_fdopendir},
    {"scandir", 1, v_scandir},
    {"glob", 1, v_glob},
    {"nftw", 1, v_nftw},
    {"fts", 1, v_fts},
    {"mkstemp", 1, v_mkstemp},
    {"mkostemp", 1, v_mkostemp},
    {"mkstemps", 1, v_mkstemps},
    {"mkdtemp", 1, v_mkdtemp},
    {0},
};
