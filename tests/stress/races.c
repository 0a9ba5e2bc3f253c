/* The object of a call changes while it is judged: the text of a path, the object of a descriptor. */
#include "stress.h"
#include <linux/openat2.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/xattr.h>

static atomic_int over;

/* Rewrites a path in place, from the allowed to the forbidden name and back. */
struct names {
    char *path;
    const char *allowed, *forbidden;
    size_t length;
};

static void *rewrite(void *argument) {
    struct names *names = argument;
    while (!atomic_load(&over)) {
        memcpy(names->path, names->forbidden, names->length);
        memcpy(names->path, names->allowed, names->length);
    }
    return 0;
}

static long make(int call, const char *path, struct sockaddr_un *address) {
    struct open_how how = {.flags = O_WRONLY | O_TRUNC};
    char *none[] = {0};
    switch (call) {
    case 0: return syscall(SYS_open, path, O_RDWR);
    case 1: return syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    case 2: return syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    case 3: return syscall(SYS_truncate, path, 1);
    case 4: return syscall(SYS_chmod, path, 0640);
    case 5: return syscall(SYS_setxattr, path, "user.x", "y", 1, 0);
    case 6: return syscall(SYS_utimensat, AT_FDCWD, path, none, 0);
    case 7: return syscall(SYS_link, path, "second") | syscall(SYS_unlink, "second");
    case 8: return syscall(SYS_rename, path, "moved") | syscall(SYS_rename, "moved", path);
    default: {
        int socket_ = socket(AF_UNIX, SOCK_STREAM, 0);
        long result = connect(socket_, (void *)address, sizeof *address);
        int error = errno;
        close(socket_);
        errno = error;
        return result;
    }
    }
}

/* ALLOWED FORBIDDEN TIMES: both names equally long. */
void rewritten_path(char **arguments) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct names names = {.path = address.sun_path, .allowed = arguments[0],
                          .forbidden = arguments[1], .length = strlen(arguments[0])};
    must(strlen(arguments[1]) == names.length, "names of one length");
    memcpy(address.sun_path, names.allowed, names.length);
    pthread_t thread;
    must(pthread_create(&thread, 0, rewrite, &names) == 0, "a thread");
    long done = 0, refused = 0, escaped = 0;
    for (int i = 0; i < number(arguments[2]); i++) {
        long result = make(i % 10, address.sun_path, &address);
        if (result < 0) {
            refused++;
            continue;
        }
        done++;
        if (i % 10 > 2) continue;
        char link[64], place[4096];
        snprintf(link, sizeof link, "/proc/self/fd/%ld", result);
        ssize_t length = readlink(link, place, sizeof place - 1);
        place[length < 0 ? 0 : length] = 0;
        escaped += strcmp(place, names.forbidden) == 0;
        close((int)result);
    }
    atomic_store(&over, 1);
    pthread_join(thread, 0);
    printf("done %ld refused %ld escaped %ld\n", done, refused, escaped);
}

/* One number stands for two objects by turns. */
struct objects {
    int at, allowed, forbidden;
};

static void *exchange(void *argument) {
    struct objects *objects = argument;
    while (!atomic_load(&over)) {
        dup2(objects->forbidden, objects->at);
        dup2(objects->allowed, objects->at);
    }
    return 0;
}

static long change(int call, int fd) {
    struct timespec times[2] = {{1, 0}, {1, 0}};
    switch (call) {
    case 0: return syscall(SYS_fchmod, fd, 0611);
    case 1: return syscall(SYS_fsetxattr, fd, "user.x", "y", 1, 0);
    case 2: return syscall(SYS_utimensat, fd, 0, times, 0);
    case 3: return syscall(SYS_fchown, fd, 0, 0);
    case 4: return syscall(SYS_fchmodat, fd, "inner", 0611);
    case 5: return syscall(SYS_mkdirat, fd, "made", 0700) | syscall(SYS_unlinkat, fd, "made", AT_REMOVEDIR);
    case 6: return syscall(SYS_openat, fd, "inner", O_WRONLY | O_TRUNC);
    case 7: return syscall(SYS_renameat2, fd, "inner", fd, "inner2", 0) | syscall(SYS_renameat2, fd, "inner2", fd, "inner", 0);
    default: return syscall(SYS_linkat, fd, "inner", fd, "linked", 0) | syscall(SYS_unlinkat, fd, "linked", 0);
    }
}

static void *swap(void *directory) {
    while (!atomic_load(&over)) syscall(SYS_renameat2, AT_FDCWD, directory, AT_FDCWD, "swapped", 2);
    return 0;
}

static long change_below(int call, const char *directory) {
    char inner[4096], made[4096];
    snprintf(inner, sizeof inner, "%s/inner", directory);
    snprintf(made, sizeof made, "%s/made", directory);
    switch (call) {
    case 0: return make(1, inner, 0);
    case 1: return make(2, inner, 0);
    case 2: return syscall(SYS_openat, AT_FDCWD, made, O_CREAT | O_EXCL | O_WRONLY, 0600);
    case 3: return syscall(SYS_unlink, made);
    case 4: return syscall(SYS_mkdir, made, 0700);
    case 5: return syscall(SYS_rmdir, made);
    case 6: return syscall(SYS_symlink, "x", made);
    case 7: return syscall(SYS_unlink, made);
    case 8: return syscall(SYS_rename, inner, made);
    case 9: return syscall(SYS_rename, made, inner);
    case 10: return syscall(SYS_link, inner, made);
    case 11: return syscall(SYS_unlink, made);
    case 12: return syscall(SYS_truncate, inner, 1);
    case 13: return syscall(SYS_chmod, inner, 0611);
    case 14: return syscall(SYS_chown, inner, 0, 0);
    default: {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        snprintf(address.sun_path, sizeof address.sun_path, "%.90s/made", directory);
        int socket_ = socket(AF_UNIX, SOCK_STREAM, 0);
        long result = bind(socket_, (void *)&address, sizeof address);
        close(socket_);
        if (result >= 0) syscall(SYS_unlink, made);
        return result;
    }
    }
}

/* DIRECTORY FORBIDDEN TIMES: a symlink to FORBIDDEN takes the place of DIRECTORY and gives it back. */
void swapped_names(char **arguments) {
    must(symlink(arguments[1], "swapped") == 0, "a link");
    pthread_t thread;
    must(pthread_create(&thread, 0, swap, arguments[0]) == 0, "a thread");
    long done = 0, refused = 0;
    for (int i = 0; i < number(arguments[2]); i++) {
        int call = i % 16;
        long result = change_below(call, arguments[0]);
        result < 0 ? refused++ : done++;
        if (call < 3 && result >= 0) close((int)result);
    }
    atomic_store(&over, 1);
    pthread_join(thread, 0);
    printf("done %ld refused %ld\n", done, refused);
}

/* ALLOWED FORBIDDEN TIMES: two directories. The second one may only be read. */
void swapped_descriptor(char **arguments) {
    struct objects objects = {.at = 100};
    objects.allowed = open(arguments[0], O_RDONLY | O_DIRECTORY);
    objects.forbidden = open(arguments[1], O_RDONLY | O_DIRECTORY);
    must(objects.allowed >= 0 && objects.forbidden >= 0, "two directories");
    dup2(objects.allowed, objects.at);
    pthread_t thread;
    must(pthread_create(&thread, 0, exchange, &objects) == 0, "a thread");
    long done = 0, refused = 0;
    for (int i = 0; i < number(arguments[2]); i++) {
        long result = change(i % 9, objects.at);
        result < 0 ? refused++ : done++;
        if (i % 9 == 6 && result >= 0) close((int)result);
    }
    atomic_store(&over, 1);
    pthread_join(thread, 0);
    printf("done %ld refused %ld\n", done, refused);
}
