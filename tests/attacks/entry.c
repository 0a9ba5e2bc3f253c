/* Ways to change a directory's entries. */
#include "attack.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "absent.h"

static int v_unlink(char **a) { return unlink(a[0]); }
static int v_unlinkat(char **a) { return unlinkat(AT_FDCWD, a[0], 0); }
static int v_sys_unlink(char **a) { return (int)syscall(SYS_unlink, a[0]); }
static int v_sys_unlinkat(char **a) { return (int)syscall(SYS_unlinkat, AT_FDCWD, a[0], 0); }
static int v_remove(char **a) { return remove(a[0]); }
static int v_rmdir(char **a) { return rmdir(a[0]); }

static int v_rename(char **a) { return rename(a[0], a[1]); }
static int v_renameat(char **a) { return renameat(AT_FDCWD, a[0], AT_FDCWD, a[1]); }
static int v_sys_rename(char **a) { return (int)syscall(SYS_rename, a[0], a[1]); }
static int v_rename_noreplace(char **a)
{
    return renameat2(AT_FDCWD, a[0], AT_FDCWD, a[1], RENAME_NOREPLACE);
}
static int v_exchange(char **a) { return renameat2(AT_FDCWD, a[0], AT_FDCWD, a[1], RENAME_EXCHANGE); }
static int v_whiteout(char **a) { return renameat2(AT_FDCWD, a[0], AT_FDCWD, a[1], RENAME_WHITEOUT); }
/* Renames from and to a held directory, by the name there. */
static int v_rename_held(char **a)
{
    int from = open(a[0], O_PATH | O_DIRECTORY), to = open(a[2], O_PATH | O_DIRECTORY);
    return from < 0 || to < 0 ? FAILED : renameat(from, a[1], to, a[3]);
}
static int v_sys_renameat2(char **a)
{
    return (int)syscall(SYS_renameat2, AT_FDCWD, a[0], AT_FDCWD, a[1], 0);
}

enum { SWAPPERS = 2, SECONDS = 2 };
static volatile int settled;

static void *swap_entries(void *names)
{
    char **a = names;
    while (!settled)
        renameat2(AT_FDCWD, a[0], AT_FDCWD, a[1], RENAME_EXCHANGE);
    return NULL;
}

/* Moves a directory, or a symlink to one, to the place of a file, and reads the key in it: `rename_swapped FILE
 * DIRECTORY TO`. Meanwhile, other threads exchange FILE and DIRECTORY. Every other time TO exists already. */
static int v_rename_swapped(char **a)
{
    pthread_t threads[SWAPPERS];
    char key[256];
    long moved = 0, refused = 0;
    int fd = -1;
    snprintf(key, sizeof key, "%s/key", a[2]);
    for (int i = 0; i < SWAPPERS; i++)
        if ((errno = pthread_create(&threads[i], NULL, swap_entries, a)))
            return FAILED;
    for (time_t end = time(NULL) + SECONDS; time(NULL) <= end && fd < 0;) {
        if ((moved + refused) & 1)
            close(open(a[2], O_CREAT | O_WRONLY, 0644));
        int answer = rename(a[0], a[2]);
        refused += answer && (errno == EACCES || errno == EXDEV);
        moved += answer == 0;
        fd = open(key, O_RDONLY);
        /* Neither may keep the place of the other, or there would be nothing more to swap. */
        if (answer)
            unlink(a[2]);
        else
            rename(a[2], a[0]);
    }
    settled = 1;
    for (int i = 0; i < SWAPPERS; i++)
        pthread_join(threads[i], NULL);
    if (fd >= 0)
        return show(fd);
    errno = moved && refused ? EACCES : ENODATA;
    return FAILED;
}

static int v_link(char **a) { return link(a[0], a[1]); }
static int v_linkat_follow(char **a) { return linkat(AT_FDCWD, a[0], AT_FDCWD, a[1], AT_SYMLINK_FOLLOW); }
static int v_link_fd(char **a)
{
    int fd = open(a[0], O_PATH);
    char path[64];
    if (fd < 0)
        return FAILED;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, path, AT_FDCWD, a[1], AT_SYMLINK_FOLLOW);
}
static int v_symlink(char **a) { return symlink(a[0], a[1]); }
static int v_symlinkat(char **a) { return symlinkat(a[0], AT_FDCWD, a[1]); }

static int v_mkdir(char **a) { return mkdir(a[0], 0755); }
static int v_mkdirat(char **a) { return mkdirat(AT_FDCWD, a[0], 0755); }
static int v_mknod(char **a) { return mknod(a[0], S_IFREG | 0644, 0); }
/* Devices that no driver need answer for: they are created, and never opened. */
static int v_mknod_char(char **a) { return mknod(a[0], S_IFCHR | 0600, makedev(1, 3)); }
static int v_mknod_block(char **a) { return mknod(a[0], S_IFBLK | 0600, makedev(7, 255)); }
static int v_mkfifo(char **a) { return mkfifo(a[0], 0644); }

static int v_bind(char **a)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", a[0]);
    int answer = bind(fd, (struct sockaddr *)&address, sizeof address);
    int error = errno;
    close(fd);
    errno = error;
    return answer;
}

/* Binds in a directory, by a name in which N is the number of its descriptor: `bind_from DIR /dev/fd/N/s`. */
static int v_bind_from(char **a)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat bound;
    int directory = open(a[0], O_PATH | O_DIRECTORY), fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (directory < 0 || fchdir(directory))
        return FAILED;
    char *number = strchr(a[1], 'N'), *name = strrchr(a[1], '/');
    if (number)
        snprintf(address.sun_path, sizeof address.sun_path, "%.*s%d%s", (int)(number - a[1]), a[1], directory, name);
    else
        snprintf(address.sun_path, sizeof address.sun_path, "%s", a[1]);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 1))
        return FAILED;
    int other = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(other, (struct sockaddr *)&address, sizeof address))
        return FAILED;
    return fstatat(directory, name + 1, &bound, 0) || !S_ISSOCK(bound.st_mode) ? FAILED : DONE;
}

const struct verb entry_verbs[] = {
    {"unlink", 1, v_unlink},
    {"unlinkat", 1, v_unlinkat},
    {"sys_unlink", 1, v_sys_unlink},
    {"sys_unlinkat", 1, v_sys_unlinkat},
    {"remove", 1, v_remove},
    {"rmdir", 1, v_rmdir},
    {"rename", 2, v_rename},
    {"renameat", 2, v_renameat},
    {"rename_noreplace", 2, v_rename_noreplace},
    {"exchange", 2, v_exchange},
    {"rename_swapped", 3, v_rename_swapped},
    {"whiteout", 2, v_whiteout},
    {"rename_held", 4, v_rename_held},
    {"sys_rename", 2, v_sys_rename},
    {"sys_renameat2", 2, v_sys_renameat2},
    {"link", 2, v_link},
    {"linkat_follow", 2, v_linkat_follow},
    {"link_fd", 2, v_link_fd},
    {"symlink", 2, v_symlink},
    {"symlinkat", 2, v_symlinkat},
    {"mkdir", 1, v_mkdir},
    {"mkdirat", 1, v_mkdirat},
    {"mknod", 1, v_mknod},
    {"mknod_char", 1, v_mknod_char},
    {"mknod_block", 1, v_mknod_block},
    {"mkfifo", 1, v_mkfifo},
    {"bind", 1, v_bind},
    {"bind_from", 2, v_bind_from},
    {0},
};
