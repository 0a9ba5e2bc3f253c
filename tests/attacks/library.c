/* Second names of libc's functions, and functions that open, run or connect from inside libc. */
#include "attack.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <wordexp.h>

#include "absent.h"

static int stream(FILE *file, int (*close_stream)(FILE *))
{
    char text[200] = "";
    if (!file)
        return FAILED;
    int answer = fgets(text, sizeof text, file) ? DONE : FAILED;
    found(text);
    close_stream(file);
    if (answer == FAILED)
        errno = EACCES; /* the command printed nothing */
    return answer;
}

static int v_popen_cat(char **a)
{
    char command[600];
    snprintf(command, sizeof command, "cat '%s'", a[0]);
    return stream(popen(command, "r"), pclose);
}

static int v_setmntent(char **a) { return stream(setmntent(a[0], "r"), endmntent); }
static int v_setmntent_w(char **a)
{
    FILE *file = setmntent(a[0], "w");
    return file ? (endmntent(file), DONE) : FAILED;
}

static int substituted(const char *text)
{
    wordexp_t words = {0};
    int answer = wordexp(text, &words, 0) == 0 && words.we_wordc > 0 ? DONE : FAILED;
    if (answer == DONE)
        found(words.we_wordv[0]);
    wordfree(&words);
    errno = EACCES;
    return answer;
}
static int v_wordexp_cat(char **a)
{
    char text[600];
    snprintf(text, sizeof text, "$(cat %s)", a[0]);
    return substituted(text);
}

/* Unix sockets. */
static struct sockaddr_un unix_address(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return address;
}

/* Leaves a process behind that holds a datagram socket for as long as a test may take. */
static int v_hold_socket(char **a)
{
    struct sockaddr_un address = unix_address(a[0]);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address))
        return FAILED;
    pid_t child = fork();
    if (child == 0) {
        setsid();
        for (int i = 0; i < 3; i++)
            close(i);
        alarm(30);
        pause();
        _exit(0);
    }
    return child < 0 ? FAILED : DONE;
}

typedef int reach(int fd, struct sockaddr_un *address);

static int reach_connect(int fd, struct sockaddr_un *to)
{
    return connect(fd, (struct sockaddr *)to, sizeof *to);
}
static int reach_sendto(int fd, struct sockaddr_un *to)
{
    return (int)sendto(fd, "x", 1, 0, (struct sockaddr *)to, sizeof *to);
}
static int reach_sendmsg(int fd, struct sockaddr_un *to)
{
    struct iovec part = {"x", 1};
    struct msghdr message = {.msg_name = to, .msg_namelen = sizeof *to, .msg_iov = &part, .msg_iovlen = 1};
    return (int)sendmsg(fd, &message, 0);
}
static int reach_sendmmsg(int fd, struct sockaddr_un *to)
{
    struct iovec part = {"x", 1};
    struct mmsghdr message = {
        {.msg_name = to, .msg_namelen = sizeof *to, .msg_iov = &part, .msg_iovlen = 1}, 0};
    return sendmmsg(fd, &message, 1, 0);
}

static int reached(const char *path, reach *how)
{
    struct sockaddr_un address = unix_address(path);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    int answer = fd < 0 || how(fd, &address) < 0 ? FAILED : DONE;
    int error = errno;
    close(fd);
    errno = error;
    return answer;
}
static int v_connect(char **a) { return reached(a[0], reach_connect); }
static int v_sendto(char **a) { return reached(a[0], reach_sendto); }
static int v_sendmsg(char **a) { return reached(a[0], reach_sendmsg); }
static int v_sendmmsg(char **a) { return reached(a[0], reach_sendmmsg); }

#ifdef __GLIBC__
/* Exported by glibc, declared nowhere. */
extern int __open(const char *, int, ...);
extern int __open64(const char *, int, ...);
extern int __connect(int, const struct sockaddr *, socklen_t);
extern FILE *_IO_fopen(const char *, const char *);
extern FILE *_IO_popen(const char *, const char *);

static int shown(int fd) { return fd < 0 ? FAILED : show(fd); }

static int v_alias_open(char **a) { return shown(__open(a[0], O_RDONLY)); }
static int v_alias_open64(char **a) { return shown(__open64(a[0], O_RDONLY)); }
static int v_alias_fopen(char **a) { return stream(_IO_fopen(a[0], "r"), fclose); }
static int v_alias_popen_cat(char **a)
{
    char command[600];
    snprintf(command, sizeof command, "cat '%s'", a[0]);
    return stream(_IO_popen(command, "r"), pclose);
}

static int reach_alias(int fd, struct sockaddr_un *to)
{
    return __connect(fd, (struct sockaddr *)to, sizeof *to);
}
static int v_alias_connect(char **a) { return reached(a[0], reach_alias); }

#ifndef STATIC
/* A second libc in the process, which no hook covers. */
static int v_second_libc(char **a)
{
    void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
    int (*second_open)(const char *, int, ...) = NULL;
    if (libc)
        *(void **)&second_open = dlsym(libc, "open");
    errno = EACCES;
    return second_open ? shown(second_open(a[0], O_RDONLY)) : FAILED;
}
#else
#define v_second_libc absent
#endif

/* The walk itself changes into each directory (musl has none that does). The callback opens by the bare name. */
static const char *wanted;
static int seen, seen_error;
static int open_wanted(const char *path, const struct stat *stat, int kind, struct FTW *place)
{
    (void)stat, (void)kind;
    if (strcmp(path + place->base, wanted) != 0)
        return 0;
    seen = shown(open(wanted, O_RDONLY));
    seen_error = errno;
    return 1;
}
static int v_nftw_chdir(char **a)
{
    wanted = a[1];
    seen = FAILED;
    seen_error = EACCES; /* nothing was listed */
    nftw(a[0], open_wanted, 8, FTW_PHYS | FTW_CHDIR);
    errno = seen_error;
    return seen;
}
#else
#define v_nftw_chdir absent
#define v_alias_open absent
#define v_alias_open64 absent
#define v_alias_fopen absent
#define v_alias_popen_cat absent
#define v_alias_connect absent
#define v_second_libc absent
#endif

const struct verb library_verbs[] = {
    {"alias_open", 1, v_alias_open},
    {"alias_open64", 1, v_alias_open64},
    {"alias_fopen", 1, v_alias_fopen},
    {"alias_popen_cat", 1, v_alias_popen_cat},
    {"popen_cat", 1, v_popen_cat},
    {"second_libc", 1, v_second_libc},
    {"setmntent", 1, v_setmntent},
    {"setmntent_w", 1, v_setmntent_w},
    {"wordexp_cat", 1, v_wordexp_cat},
    {"nftw_chdir", 2, v_nftw_chdir},
    {"hold_socket", 1, v_hold_socket},
    {"connect", 1, v_connect},
    {"alias_connect", 1, v_alias_connect},
    {"sendto", 1, v_sendto},
    {"sendmsg", 1, v_sendmsg},
    {"sendmmsg", 1, v_sendmmsg},
    {0},
};
