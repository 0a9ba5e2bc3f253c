/* Calls whose answers must be the kernel's own, one line each: arguments that it cannot read, names and flags of odd
 * shapes, the numbers of descriptors. */
#include "attack.h"
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "absent.h"

extern char **environ;

static void every_call(const char *kind, const char *volatile bad)
{
    struct stat status;
    char buffer[8];
    char *const vector[] = {"x", NULL};
    char **volatile bad_vector = (char **)(size_t)bad;

    line(kind, "open", open(bad, O_RDONLY));
    line(kind, "open O_CREAT", open(bad, O_WRONLY | O_CREAT, 0644));
    line(kind, "openat", openat(AT_FDCWD, bad, O_RDONLY));
    line(kind, "openat bad descriptor", openat(-5, bad, O_RDONLY));
    line(kind, "creat", creat(bad, 0644));
    line(kind, "syscall openat", syscall(SYS_openat, AT_FDCWD, bad, O_RDONLY));
    line(kind, "stat", stat(bad, &status));
    line(kind, "lstat", lstat(bad, &status));
    line(kind, "fstatat", fstatat(AT_FDCWD, bad, &status, 0));
    line(kind, "access", access(bad, R_OK));
    line(kind, "unlink", unlink(bad));
    line(kind, "unlinkat", unlinkat(AT_FDCWD, bad, 0));
    line(kind, "rmdir", rmdir(bad));
    line(kind, "rename from", rename(bad, "renamed"));
    line(kind, "rename to", rename("file", bad));
    line(kind, "link from", link(bad, "linked"));
    line(kind, "link to", link("file", bad));
    line(kind, "symlink text", symlink(bad, "linked"));
    line(kind, "symlink name", symlink("file", bad));
    line(kind, "mkdir", mkdir(bad, 0755));
    line(kind, "mkfifo", mkfifo(bad, 0644));
    line(kind, "readlink", readlink(bad, buffer, sizeof buffer));
    line(kind, "chmod", chmod(bad, 0644));
    line(kind, "chown", chown(bad, geteuid(), getegid()));
    line(kind, "truncate", truncate(bad, 0));
    line(kind, "chdir", chdir(bad));
    line(kind, "getxattr", getxattr(bad, "user.k", buffer, sizeof buffer));
    line(kind, "setxattr", setxattr(bad, "user.k", "v", 1, 0));
    line(kind, "execve path", execve(bad, vector, environ));
    line(kind, "execve arguments", execve(self, bad_vector, environ));
}

/* Above the last page of the main stack, and above the kernel's own pages where they are next to it. */
static const char *above_the_stack(void)
{
    const size_t near = 1 << 16, page = (size_t)sysconf(_SC_PAGESIZE);
    const char *last = (const char *)getauxval(AT_EXECFN);
    size_t top = ((size_t)(last + strlen(last)) + sizeof(long) + page) & ~(page - 1);
    size_t kernel = getauxval(AT_SYSINFO_EHDR);
    return (const char *)(kernel > top && kernel - top < near ? kernel + near : top) + 8;
}

/* Makes the heap end at the end of a page, and fills that page. */
static char *last_page_of_heap(long page)
{
    char *end = sbrk(0);
    long missing = page - (long)((unsigned long)end % (unsigned long)page);
    if (sbrk(missing + page) == (void *)-1)
        return NULL;
    end = sbrk(0);
    memset(end - page, 'a', (size_t)page);
    return end - page;
}

static int v_pointers(char **a)
{
    long page = sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)a;
    if (pages == MAP_FAILED || mprotect(pages + page, (size_t)page, PROT_NONE))
        return FAILED;
    memset(pages, 'a', (size_t)page);
    every_call("wild", (const char *)0x10);
    every_call("kernel", (const char *)0xffff800000000000UL);
    every_call("unreadable", pages + page);
    every_call("unterminated", pages + page - 40);
    every_call("above the stack", above_the_stack());
    char *heap = last_page_of_heap(page);
    if (!heap)
        return FAILED;
    every_call("unterminated in the heap", heap + page - 40);
    every_call("behind the heap", heap + page);
    if (sbrk(-page) == (void *)-1)
        return FAILED;
    every_call("given back", heap);
    return DONE;
}

static int v_null_pointers(char **a)
{
    const char *volatile null = NULL;
    struct stat status;
    char buffer[8];
    char *const vector[] = {"x", NULL};
    (void)a;
    line("null", "open", open(null, O_RDONLY));
    line("null", "openat", openat(AT_FDCWD, null, O_RDONLY));
    line("null", "creat", creat(null, 0644));
    line("null", "syscall openat", syscall(SYS_openat, AT_FDCWD, null, O_RDONLY));
    line("null", "syscall statx", syscall(SYS_statx, 0, NULL, 0, 0x7ff, NULL));
    line("null", "stat", stat(null, &status));
    line("null", "access", access(null, R_OK));
    line("null", "unlink", unlink(null));
    line("null", "rename", rename(null, null));
    line("null", "mkdir", mkdir(null, 0755));
    line("null", "symlink", symlink(null, null));
    line("null", "readlink", readlink(null, buffer, sizeof buffer));
    line("null", "chmod", chmod(null, 0644));
    line("null", "truncate", truncate(null, 0));
    line("null", "chdir", chdir(null));
    line("null", "execve", execve(null, vector, environ));
    return DONE;
}

/* Names that the kernel denies for their shape. The denial must be the same. */
static int v_odd_names(char **a)
{
    static char longest[PATH_MAX + 100], component[NAME_MAX + 2];
    struct stat status;
    char buffer[8];
    (void)a;
    memset(component, 'c', NAME_MAX + 1);
    for (int i = 0; i < PATH_MAX; i += 2)
        memcpy(longest + i, "./", 2);
    strcpy(longest + PATH_MAX, "file");
    const struct { const char *label, *name; } names[] = {
        {"empty", ""}, {"file/", "file/"}, {"file/x", "file/x"}, {"missing/x", "missing/x"},
        {"dir/missing/", "dir/missing/"}, {"dir/.", "dir/."}, {".", "."},
        {"component", component}, {"longest", longest},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        line(names[i].label, "open", open(names[i].name, O_RDONLY));
        line(names[i].label, "open O_CREAT", open(names[i].name, O_WRONLY | O_CREAT, 0644));
        line(names[i].label, "stat", stat(names[i].name, &status));
        line(names[i].label, "access", access(names[i].name, F_OK));
        line(names[i].label, "chmod", chmod(names[i].name, 0755));
        line(names[i].label, "readlink", readlink(names[i].name, buffer, sizeof buffer));
        line(names[i].label, "unlink", unlink(names[i].name));
        line(names[i].label, "rename", rename(names[i].name, "dir/renamed"));
        line(names[i].label, "symlink", symlink("text", names[i].name));
        line(names[i].label, "rmdir", rmdir(names[i].name));
        line(names[i].label, "mkdir", mkdir(names[i].name, 0755));
    }
    const char *unmade[] = {"missing/.", "missing/..", "dir/../missing//", "dir/..", "loop/.", "to_slash", "to_dot"};
    (void)(symlink("loop", "loop") | symlink("missing/", "to_slash") | symlink("missing/.", "to_dot"));
    for (size_t i = 0; i < sizeof unmade / sizeof *unmade; i++)
        line(unmade[i], "open O_CREAT", open(unmade[i], O_WRONLY | O_CREAT, 0644));
    line("dir/../made//", "mkdir", mkdir("dir/../made//", 0755));
    return DONE;
}

#ifdef SYS_openat2
/* Resolve flags of openat2(2), with and without creating files. */
static int v_resolve_flags(char **a)
{
    const char *names[] = {"file", "file/", "dangling", "dir/up", "dir/there", "dir/", "dir/.", "new", "new/", "missing/x"};
    const unsigned long kinds[] = {O_RDONLY, O_WRONLY | O_CREAT, O_WRONLY | O_CREAT | O_EXCL};
    (void)a;
    if (symlink("nowhere", "dangling") || symlink("../nowhere", "dir/up") || symlink("there2", "dir/there"))
        return FAILED;
    for (unsigned long resolve = 0; resolve <= 0x20; resolve = resolve ? resolve * 2 : 1)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            for (size_t k = resolve == 0x20; k < sizeof kinds / sizeof *kinds; k++) {
                unsigned long how[] = {kinds[k], k ? 0600 : 0, resolve};
                printf("%lx %lo ", resolve, kinds[k]);
                line(names[i], "openat2", syscall(SYS_openat2, AT_FDCWD, names[i], how, sizeof how));
                (void)(unlink("nowhere") | unlink("dir/there2") | unlink("new"));
            }
    return DONE;
}

/* These lead to the process that asks, and not to one that asks on its behalf. */
static int v_own_process(char **a)
{
    const struct { int from_proc; const char *name; } places[] = {
        {0, "/proc/self/status"}, {0, "/proc/thread-self/status"}, {0, "/proc/self/environ"}, {0, "/proc/mounts"},
        {0, "/proc/net/dev"}, {0, "me/status"}, {0, "me/../self/task/../maps"}, {0, "stat"}, {0, "chain/maps"},
        {0, "/proc/self/cwd/file"}, {0, "d/../stat"}, {0, "round"},
        {1, "self/status"}, {1, "thread-self/environ"}, {1, "net/dev"}, {1, "self/oom_score_adj"}, {1, "self/task/../stat"},
        {1, "/self/status"},
    };
    const unsigned long asked[] = {0x01, 0x02, 0x04, 0x06, 0x08, 0x0a, 0x10, 0x12};
    const unsigned long kinds[] = {O_RDONLY, O_RDONLY | O_NOFOLLOW, O_WRONLY, O_WRONLY | O_CREAT};
    char own[32], link[32], place[PATH_MAX];
    int length = snprintf(own, sizeof own, "/proc/%d/", getpid());
    int proc = open("/proc", O_RDONLY | O_DIRECTORY);
    (void)a;
    if (symlink("/proc/self", "me") || symlink("/proc/self/stat", "stat") || symlink("dir/there", "chain")
        || symlink("../me", "dir/there") || symlink("round", "round") || symlink("dir", "d"))
        return FAILED;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (size_t j = 0; j < sizeof asked / sizeof *asked; j++)
            for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
                unsigned long how[] = {kinds[k], 0, asked[j]};
                int fd;
                do /* again where directories moved in the meantime, see openat2(2) */
                    fd = (int)syscall(SYS_openat2, places[i].from_proc ? proc : AT_FDCWD, places[i].name, how, sizeof how);
                while (fd < 0 && errno == EAGAIN);
                printf("%lx %lo ", asked[j], kinds[k]);
                line(places[i].name, "openat2", fd);
                snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
                if (fd >= 0 && readlink(link, place, sizeof place) > length)
                    printf("own: %d\n", memcmp(place, own, (size_t)length) == 0);
                close(fd);
            }
    return DONE;
}
#else
#define v_resolve_flags absent
#define v_own_process absent
#endif

static void program(const char *name, const void *start, size_t size)
{
    static char *const vector[] = {"x", NULL};
    FILE *file = fopen(name, "w");
    if (!file || fwrite(start, 1, size, file) != size || fclose(file) || chmod(name, 0755))
        printf("%s: not made\n", name);
    line(name, "execve", execve(name, vector, environ));
}

/* A program that names `size` bytes at `offset` as its loader's path. */
static void named_loader(const char *name, size_t offset, size_t size)
{
    struct { Elf64_Ehdr file; Elf64_Phdr loader; char text[16]; } elf = {
        .file = {.e_ident = ELFMAG "\2\1\1", .e_type = ET_DYN, .e_version = 1,
#ifdef __x86_64__
                 .e_machine = EM_X86_64,
#else
                 .e_machine = EM_AARCH64,
#endif
                 .e_ehsize = sizeof(Elf64_Ehdr), .e_phoff = sizeof(Elf64_Ehdr),
                 .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1},
        .loader = {.p_type = PT_INTERP, .p_offset = offset, .p_filesz = size},
    };
    program(name, &elf, sizeof elf);
}

/* Programs that cannot be started. */
static int v_odd_programs(char **a)
{
    static char *const vector[] = {"x", NULL};
    (void)a;
    program("no_line", "#!", 2);
    program("blank_line", "#! \t\n", 5);
    program("empty_name", "#!\0/bin/sh\n", 11);
    named_loader("loader_without_name", sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), 2);
    named_loader("loader_beyond_the_end", 1 << 20, 8);
    (void)(symlink("bin/attack", "link") | symlink("loop", "loop"));
    line("link", "execveat", execveat(AT_FDCWD, "link", vector, environ, AT_SYMLINK_NOFOLLOW));
    line("loop", "execve", execve("loop", vector, environ));
    line("link, held", "fexecve", fexecve(open("link", O_PATH | O_NOFOLLOW), vector, environ));
    line("link, held", "execveat",
         execveat(open("link", O_PATH | O_NOFOLLOW), "", vector, environ, AT_EMPTY_PATH));
    line("working directory", "execveat", execveat(AT_FDCWD, "", vector, environ, AT_EMPTY_PATH));
    return DONE;
}

/* The root is the one directory whose path ends with its slash. Calls are relative to it, and to a descriptor of it. */
static int v_in_root(char **a)
{
    char *const vector[] = {"x", NULL};
    struct stat status;
    (void)a;
    int root = open("/", O_PATH | O_DIRECTORY);
    if (root < 0 || chdir("/"))
        return FAILED;
    const char *const names[] = {
        ".", "./", "..", "../", "./.", "../..", "usr", "usr/", "./usr", "../usr", "usr/..",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        line(names[i], "open", open(names[i], O_RDONLY));
        line(names[i], "open a directory", open(names[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
        line(names[i], "openat", openat(root, names[i], O_RDONLY));
        line(names[i], "opendir", opendir(names[i]) ? 0 : -1);
        line(names[i], "stat", stat(names[i], &status));
        line(names[i], "access", access(names[i], X_OK));
        line(names[i], "execve", execve(names[i], vector, environ));
        line(names[i], "chdir", chdir(names[i]) || chdir("/"));
    }
    line("no descriptor", "fexecve", fexecve(99, vector, environ));
    return DONE;
}

static void number(const char *call, long answer)
{
    if (answer < 0)
        printf("%s: %s\n", call, errno_name(errno));
    else
        printf("%s: %ld\n", call, answer);
    fflush(stdout);
}

/* A call that opens must return the lowest free number, whatever was opened meanwhile. */
static int v_descriptor_numbers(char **a)
{
    struct stat status;
    (void)a;
    if (symlink("file", "link") || symlink("dir", "parent") || close(0))
        return FAILED;
    const struct { const char *label, *name; int flags; } rows[] = {
        {"plain", "file", O_RDONLY},
        {"by a link", "link", O_RDONLY},
        {"by a link to write", "link", O_WRONLY},
        {"by a link, held", "link", O_PATH},
        {"the link itself", "link", O_PATH | O_NOFOLLOW},
        {"by a parent", "parent/new", O_WRONLY | O_CREAT},
        {"by a parent, on exec closed", "parent/new", O_RDONLY | O_CLOEXEC},
        {"a directory by a link", "parent", O_RDONLY | O_DIRECTORY},
        {"unnamed by a link", "parent", O_WRONLY | O_TMPFILE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int fd = open(rows[i].name, rows[i].flags, 0644);
        number(rows[i].label, fd);
        number("  its flags on exec", fcntl(fd, F_GETFD));
        number("  its flags", fcntl(fd, F_GETFL) & (O_ACCMODE | O_PATH | O_APPEND | O_NONBLOCK));
        number("  what it is", fstat(fd, &status) ? -1 : (long)(status.st_mode & S_IFMT));
        close(fd);
    }
    FILE *file = fopen("link", "r");
    number("fopen", file ? fileno(file) : -1);
    if (file)
        fclose(file);
    char name[] = "parent/XXXXXX";
    number("mkstemp", mkstemp(name));
    return DONE;
}

/* Flags that the kernel denies, or accepts only together. */
static int v_odd_flags(char **a)
{
    static const struct timespec times[2] = {{1, 0}, {1, 0}};
    struct stat status;
    const char *volatile nothing = NULL;
    (void)a;
    if (symlink("dir", "parent") || close(open("dir/f", O_WRONLY | O_CREAT, 0644)))
        return FAILED;
    int held = open("dir/f", O_PATH), directory = open("parent", O_PATH | O_DIRECTORY);
    line("file by a link", "open as a directory", open("parent/f", O_RDONLY | O_DIRECTORY));
    line("file by a link", "held as a directory", open("parent/f", O_PATH | O_DIRECTORY));
    line("file by a link", "itself held as a directory", open("parent/f", O_PATH | O_DIRECTORY | O_NOFOLLOW));
    line("link", "open not following", open("parent", O_RDONLY | O_NOFOLLOW));
    line("link", "open as a directory not following", open("parent", O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    line("flags", "open all of them", open("file", ~0));
    line("flags", "linkat", linkat(AT_FDCWD, "file", AT_FDCWD, "new", 0x8000));
    line("flags", "linkat not following", linkat(AT_FDCWD, "file", AT_FDCWD, "new", AT_SYMLINK_NOFOLLOW));
    line("flags", "unlinkat", unlinkat(AT_FDCWD, "file", 0x8000));
    line("flags", "renameat2", renameat2(AT_FDCWD, "file", AT_FDCWD, "new", 0x8000));
    line("flags", "fstatat", fstatat(AT_FDCWD, "file", &status, 0x40000000));
    line("flags", "utimensat", utimensat(AT_FDCWD, "file", times, 0x8000));
    line("held", "utimensat", utimensat(held, "", times, AT_EMPTY_PATH));
    line("held", "by number", syscall(SYS_utimensat, held, NULL, times, 0));
    line("held", "by number with a flag", syscall(SYS_utimensat, held, NULL, times, AT_EMPTY_PATH));
    line("here", "by number", syscall(SYS_utimensat, AT_FDCWD, NULL, times, 0));
    struct timespec neither[] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
    line("missing", "utimensat of neither", utimensat(AT_FDCWD, "missing", neither, 0));
    line("missing", "by number of neither", syscall(SYS_utimensat, AT_FDCWD, NULL, neither, 0));
    line("held", "utimensat without a flag", utimensat(held, "", times, 0));
    line("held", "utimensat of nothing", utimensat(held, nothing, times, 0));
    line("held", "fchmodat2", syscall(452, held, "", 0600, AT_EMPTY_PATH));
    line("held", "fchownat", fchownat(held, "", geteuid(), getegid(), AT_EMPTY_PATH));
    line("held", "fstatat", fstatat(held, "", &status, AT_EMPTY_PATH));
    line("held", "as a directory", openat(held, "f", O_RDONLY));
    line("held directory", "openat", openat(directory, "f", O_RDONLY));
    line("held directory", "openat empty", openat(directory, "", O_RDONLY));
    return DONE;
}

static int bound(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", name);
    return bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address);
}

/* Whether `name` is on another file system than the working directory. For a rename, the kernel says so before it looks
   at names. */
static int is_elsewhere(const char *name)
{
    struct stat here, there;
    return stat(".", &here) == 0 && stat(name, &there) == 0 && here.st_dev != there.st_dev;
}

/* Names that are no entry. The kernel first looks for the directory before them. */
static int v_dot_names(char **a)
{
    const char *names[] = {
        ".", "..", "./", "../", "/", "//", "dir/.", "dir/..", "dir/../", "missing/.", "missing/..", "file/.", "file/..",
        "to_dir/..", "to_dir/.", "to_nothing/..", "to_nothing/./", "loop/..", "dir/missing/..", "/missing/..",
        "locked/..", "locked/.",
    };
    const struct timeval times[2] = {{0, 0}, {0, 0}};
    const char *volatile null = NULL;
    (void)a;
    if (symlink("dir", "to_dir") || symlink("nothing", "to_nothing") || symlink("loop", "loop")
        || mkdir("locked", 0))
        return FAILED;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        line(names[i], "mkdir", mkdir(names[i], 0755));
        line(names[i], "mkfifo", mkfifo(names[i], 0644));
        line(names[i], "symlink", symlink("text", names[i]));
        line(names[i], "symlink without text", symlink("", names[i]));
        line(names[i], "link", link("file", names[i]));
        line(names[i], "link to nothing", link("missing", names[i]));
        line(names[i], "rename nothing to", rename("missing/new", names[i]));
        line(names[i], "rename to nothing", rename(names[i], "missing/new"));
        if (!is_elsewhere(names[i])) {
            line(names[i], "rename from", rename(names[i], "renamed"));
            line(names[i], "rename to", rename("dir", names[i]));
            line(names[i], "rename to new", renameat2(AT_FDCWD, "dir", AT_FDCWD, names[i], RENAME_NOREPLACE));
        }
        line(names[i], "unlink", unlink(names[i]));
        line(names[i], "rmdir", rmdir(names[i]));
        line(names[i], "bind", bound(names[i]));
        if (strncmp(names[i], "..", 2) && strcmp(names[i], "/missing/..")) {
            line(names[i], "open O_CREAT O_EXCL", open(names[i], O_RDWR | O_CREAT | O_EXCL, 0600));
            line(names[i], "open O_CREAT", open(names[i], O_RDWR | O_CREAT, 0600));
        }
    }
    line("missing", "truncate", truncate("missing", -1));
    line("missing", "unlinkat", unlinkat(AT_FDCWD, "missing", 0x8000));
    line("missing", "renameat2", renameat2(AT_FDCWD, "missing", AT_FDCWD, "new", 0x8000));
    line("missing", "renameat2 with both", renameat2(AT_FDCWD, "missing", AT_FDCWD, "new", RENAME_NOREPLACE | RENAME_EXCHANGE));
    line("missing", "setxattr", syscall(SYS_setxattr, "missing", null, "x", 1, 0));
    line("missing", "removexattr", syscall(SYS_removexattr, "missing", null));
    line("null", "utimes", utimes(null, times));
    line("null", "lutimes", lutimes(null, times));
    line("null", "utime", utime(null, NULL));
    return DONE;
}

/* Calls about a descriptor or the working directory itself. */
static int v_empty_paths(char **a)
{
    const struct timespec times[] = {{1, 0}, {1, 0}};
    const struct { const char *label; int fd; } places[] = {
        {"here", AT_FDCWD}, {"directory", open("dir", O_PATH)}, {"file", open("file", O_RDONLY)}, {"closed", 999},
    };
    const char *const names[] = {"", NULL};
    char room[256] = {0};
    struct stat status;
    (void)a;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (size_t j = 0; j < 2; j++) {
            int fd = places[i].fd;
            const char *const volatile name = names[j], *label = places[i].label;
            puts(name ? "empty" : "none");
            line(label, "fchmodat2", syscall(452, fd, name, 0750, AT_EMPTY_PATH));
            line(label, "fchownat", syscall(SYS_fchownat, fd, name, geteuid(), getegid(), AT_EMPTY_PATH));
            line(label, "fchownat with more", syscall(SYS_fchownat, fd, name, geteuid(), getegid(), AT_EMPTY_PATH | 0x8000));
            line(label, "utimensat", syscall(SYS_utimensat, fd, name, times, AT_EMPTY_PATH));
            line(label, "faccessat2", syscall(439, fd, name, R_OK, AT_EMPTY_PATH));
            line(label, "fstatat", syscall(SYS_newfstatat, fd, name, &status, AT_EMPTY_PATH));
            line(label, "statx", syscall(SYS_statx, fd, name, AT_EMPTY_PATH, 0x7ff, room));
            line(label, "readlinkat", syscall(SYS_readlinkat, fd, name, room, sizeof room));
            if (i > 0)
                line(label, "linkat", syscall(SYS_linkat, fd, name, AT_FDCWD, "linked", AT_EMPTY_PATH));
        }
    return fstatat(AT_FDCWD, "", &status, AT_EMPTY_PATH) || (status.st_mode & 0777) != 0750 ? FAILED : DONE;
}

/* A descriptor in a message whose structures had other content before: each member is set, and padding is not. */
static int v_messages(char **a)
{
    int pair[2], held = open("dir", O_PATH);
    char byte = 'x', control[CMSG_SPACE(sizeof held)];
    struct iovec part = {&byte, 1};
    struct mmsghdr messages[1];
    struct msghdr *message = &messages[0].msg_hdr;
    struct cmsghdr *attached = (struct cmsghdr *)control;
    (void)a;
    if (held < 0 || socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
        return FAILED;
    memset(control, 0xff, sizeof control);
    memset(messages, 0xff, sizeof messages);
    message->msg_name = NULL;
    message->msg_namelen = 0;
    message->msg_iov = &part;
    message->msg_iovlen = 1;
    message->msg_control = control;
    message->msg_controllen = sizeof control;
    message->msg_flags = 0;
    attached->cmsg_len = CMSG_LEN(sizeof held);
    attached->cmsg_level = SOL_SOCKET;
    attached->cmsg_type = SCM_RIGHTS;
    memcpy(CMSG_DATA(attached), &held, sizeof held);
    line("message", "sendmsg", (int)sendmsg(pair[0], message, 0));
    line("message", "sendmmsg", sendmmsg(pair[0], messages, 1, 0));
    line("message", "its length", (int)messages[0].msg_len);
    return DONE;
}

const struct verb answer_verbs[] = {
    {"pointers", 0, v_pointers},
    {"null_pointers", 0, v_null_pointers},
    {"odd_names", 0, v_odd_names},
    {"resolve_flags", 0, v_resolve_flags},
    {"own_process", 0, v_own_process},
    {"odd_programs", 0, v_odd_programs},
    {"descriptor_numbers", 0, v_descriptor_numbers},
    {"odd_flags", 0, v_odd_flags},
    {"in_root", 0, v_in_root},
    {"messages", 0, v_messages},
    {"dot_names", 0, v_dot_names},
    {"empty_paths", 0, v_empty_paths},
    {0},
};
