/* Files that libc opens by itself: by names of other kinds, by the environment, under fixed names. */
#include "attack.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <iconv.h>
#include <mqueue.h>
#include <netdb.h>
#include <nl_types.h>
#include <pthread.h>
#include <shadow.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <sys/gmon.h>
#endif
#include <sys/inotify.h>
#if defined(__x86_64__)
#include <sys/io.h>
#endif
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utmpx.h>
#include <wordexp.h>

#include "absent.h"

extern char **environ;

/* Exported by glibc, declared nowhere. */
extern int ruserpass(const char *host, const char **name, const char **password);
extern int utmpname(const char *file);
extern void *__nss_files_fopen(const char *path) __attribute__((weak));

/* References to versions that new programs do not get, and that static ones cannot get. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(STATIC)
extern int old_spawn(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                     char *const[], char *const[]);
__asm__(".symver old_spawn,posix_spawn@GLIBC_2.2.5");
extern int old_glob(const char *, int, int (*)(const char *, int), glob_t *);
__asm__(".symver old_glob,glob@GLIBC_2.2.5");
#else
#define old_spawn posix_spawn
#define old_glob glob
#endif

static int first(glob_t *found_names, int answer)
{
    if (answer == 0 && found_names->gl_pathc > 0) {
        found(found_names->gl_pathv[0]);
        return DONE;
    }
    errno = EACCES;
    return FAILED;
}

static int v_old_glob(char **a)
{
    glob_t names = {0};
    return first(&names, old_glob(a[0], 0, NULL, &names));
}

#ifdef __GLIBC__
/* The version that a program asks for by name at run time. */
static int v_old_glob_by_name(char **a)
{
    glob_t names = {0};
    int (*glob_function)(const char *, int, int (*)(const char *, int), glob_t *) = NULL;
    *(void **)&glob_function = dlvsym(RTLD_DEFAULT, "glob", "GLIBC_2.2.5");
    if (!glob_function)
        glob_function = glob;
    return first(&names, glob_function(a[0], 0, NULL, &names));
}
#else
#define v_old_glob_by_name absent
#endif

static int v_old_spawn(char **a)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, a[0], O_RDONLY, 0);
    char *line[] = {"true", NULL};
    pid_t child;
    int error = old_spawn(&child, "/bin/true", &actions, NULL, line, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error) {
        errno = error;
        return FAILED;
    }
    int status;
    waitpid(child, &status, 0);
    return status == 0 ? DONE : FAILED;
}

static int v_wordexp_list(char **a)
{
    wordexp_t words = {0};
    int answer = wordexp(a[0], &words, 0);
    if (answer == 0 && words.we_wordc > 0 && !strpbrk(words.we_wordv[0], "*?[")) {
        found(words.we_wordv[0]);
        return DONE;
    }
    errno = EACCES;
    return FAILED;
}

static int v_dlopen(char **a) { return dlopen(a[0], RTLD_NOW) ? DONE : FAILED; }
static int v_dlopen_token(char **a)
{
    char path[600];
    snprintf(path, sizeof path, "$ORIGIN/../../../../../../../../../../../../../..%s", a[0]);
    return dlopen(path, RTLD_NOW) ? DONE : FAILED;
}

static int v_inotify(char **a)
{
    int fd = inotify_init();
    return inotify_add_watch(fd, a[0], IN_ALL_EVENTS) < 0 ? FAILED : DONE;
}
static int v_raw_inotify(char **a)
{
    int fd = inotify_init();
    return syscall(SYS_inotify_add_watch, fd, a[0], IN_ALL_EVENTS) < 0 ? FAILED : DONE;
}

static int v_statfs(char **a) { struct statfs s; return statfs(a[0], &s); }
static int v_raw_statfs(char **a) { struct statfs s; return (int)syscall(SYS_statfs, a[0], &s); }
static int v_statvfs(char **a) { struct statvfs s; return statvfs(a[0], &s); }
static int v_pathconf(char **a) { return pathconf(a[0], _PC_LINK_MAX) < 0 ? FAILED : DONE; }
static int v_ftok(char **a) { return ftok(a[0], 1) < 0 ? FAILED : DONE; }

/* The kernel looks only at the lower half of the number. */
static int v_raw_open_wide(char **a)
{
    long fd = syscall((1L << 32) | SYS_openat, AT_FDCWD, a[0], O_RDONLY);
    return fd < 0 ? FAILED : show((int)fd);
}

/* CALL: one that nobody may make, with arguments that the kernel accepts from nobody either. */
static int v_raw_refused(char **a)
{
    static const struct { const char *name; long number; } calls[] = {
        {"pivot_root", SYS_pivot_root}, {"swapoff", SYS_swapoff}, {"bpf", SYS_bpf},
        {"fanotify_init", SYS_fanotify_init}, {"open_by_handle_at", SYS_open_by_handle_at},
        {"mount", SYS_mount}, {"umount2", SYS_umount2}, {"chroot", SYS_chroot},
        {"init_module", SYS_init_module}, {"finit_module", SYS_finit_module},
        {"delete_module", SYS_delete_module}, {"kexec_load", SYS_kexec_load},
        {"kexec_file_load", SYS_kexec_file_load}, {"vhangup", SYS_vhangup},
        {"reboot", SYS_reboot}, {"settimeofday", SYS_settimeofday},
#if defined(__x86_64__)
        {"iopl", SYS_iopl}, {"ioperm", SYS_ioperm},
#endif
        {"clock_settime", SYS_clock_settime}};
    setsid(); /* so that no terminal would be hung up */
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(a[0], calls[i].name) == 0)
            return syscall(calls[i].number, -1L, -1L, -1L) < 0 ? FAILED : DONE;
    return FAILED;
}

/* CALL: the same by libc's own functions. */
static int v_refused(char **a)
{
    if (strcmp(a[0], "mount") == 0)
        return mount(NULL, "/", NULL, 0, NULL);
    if (strcmp(a[0], "umount2") == 0)
        return umount2("/", 0);
    if (strcmp(a[0], "chroot") == 0)
        return chroot("/");
    if (strcmp(a[0], "acct") == 0)
        return acct("/");
    if (strcmp(a[0], "swapon") == 0)
        return swapon("/", 0);
    setsid(); /* so that no terminal would be hung up */
    if (strcmp(a[0], "vhangup") == 0)
        return vhangup();
    if (strcmp(a[0], "reboot") == 0)
        return reboot(-1);
    if (strcmp(a[0], "clock_settime") == 0)
        return clock_settime(-1, &(struct timespec){0, 0});
#if defined(__x86_64__)
    if (strcmp(a[0], "iopl") == 0)
        return iopl(-1);
    if (strcmp(a[0], "ioperm") == 0)
        return ioperm(-1, -1, 1);
#endif
    return FAILED;
}

/* keyctl(KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING) */
static int v_keys(char **a) { (void)a; return syscall(SYS_keyctl, 0, -4, 1) < 0 ? FAILED : DONE; }
static int v_mq_open(char **a) { return mq_open(a[0], O_CREAT | O_RDWR, 0600, NULL) < 0 ? FAILED : mq_unlink(a[0]); }

static int v_mq_make(char **a) { return mq_open(a[0], O_CREAT | O_EXCL | O_RDWR, 0600, NULL) < 0 ? FAILED : DONE; }
static int v_mq_use(char **a) { return mq_open(a[0], O_RDWR) < 0 ? FAILED : DONE; }
static int v_mq_unlink(char **a) { return mq_unlink(a[0]); }

static void *post(void *semaphore) { sem_post(semaphore); return NULL; }

/* Two semaphores of one name are one, and shared memory holds what was written. Shows where the memory is. */
static int v_names_work(char **a)
{
    pthread_t thread;
    char text[8] = "";
    (void)a;
    errno = EPERM; /* bare it would be in the machine's /dev/shm */
    if (!getenv("JP_CONFINE"))
        return FAILED;
    sem_t *one = sem_open("/jp-confine-test", O_CREAT | O_EXCL, 0600, 0);
    sem_t *other = sem_open("/jp-confine-test", O_CREAT, 0600, 7);
    if (one == SEM_FAILED || other == SEM_FAILED)
        return FAILED;
    if (sem_open("/jp-confine-test", O_CREAT | O_EXCL, 0600, 0) != SEM_FAILED || errno != EEXIST)
        return FAILED;
    pthread_create(&thread, NULL, post, one);
    sem_wait(other);
    pthread_join(thread, NULL);
    if (sem_trywait(one) == 0 || sem_unlink("/jp-confine-test") || sem_close(one) || sem_close(other))
        return FAILED;
    int fd = shm_open("/jp-confine-test", O_CREAT | O_EXCL | O_RDWR, 0600);
    if (fd < 0 || write(fd, "shared", 6) != 6)
        return FAILED;
    int again = shm_open("/jp-confine-test", O_RDONLY, 0);
    if (again < 0 || pread(again, text, 6, 0) != 6 || shm_unlink("/jp-confine-test"))
        return FAILED;
    char link[64], place[600] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    errno = EIO;
    if (strcmp(text, "shared") != 0 || readlink(link, place, sizeof place - 1) < 0)
        return FAILED;
    found(place);
    return DONE;
}

/* The resolver quotes the lines of a file that is no host.conf. */
static int v_host_conf(char **a)
{
    fflush(stderr);
    int saved = dup(2);
    FILE *file = tmpfile();
    if (!file || dup2(fileno(file), 2) < 0)
        return FAILED;
    setenv("RESOLV_HOST_CONF", a[0], 1);
    gethostbyname("localhost");
    dup2(saved, 2);
    char text[300] = "";
    rewind(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = 0;
    fclose(file);
    errno = EACCES;
    if (!length)
        return FAILED;
    found(text);
    return DONE;
}

#ifdef __GLIBC__
static int v_ruserpass(char **a)
{
    const char *name = NULL, *password = NULL;
    setenv("HOME", a[0], 1);
    errno = EACCES;
    ruserpass("localhost", &name, &password);
    if (!password)
        return FAILED;
    found(password);
    return DONE;
}
#else
#define v_ruserpass absent
#endif

#ifdef __GLIBC__
/* The name is relative, and its meaning changes before the file is opened. */
static int v_utmp_elsewhere(char **a)
{
    struct utmpx *entry;
    if (utmpname("records") || chdir(a[0]))
        return FAILED;
    setutxent();
    entry = getutxent();
    errno = EACCES;
    if (!entry)
        return FAILED;
    found(entry->ut_host);
    return entry->ut_host[0] ? DONE : FAILED;
}
#else
#define v_utmp_elsewhere absent
#endif

static int v_getdate(char **a)
{
    setenv("DATEMSK", a[0], 1);
    errno = EACCES;
    return getdate("2000") ? DONE : FAILED;
}

#ifdef __GLIBC__
/* A profile is written where the environment says. */
static int v_gmon(char **a)
{
    char path[600];
    struct stat status;
    setenv("GMON_OUT_PREFIX", a[0], 1);
    monstartup((u_long)v_gmon & ~4095UL, ((u_long)v_gmon & ~4095UL) + 8192);
    _mcleanup();
    snprintf(path, sizeof path, "%s.%d", a[0], (int)getpid());
    int answer = stat(path, &status);
    errno = EACCES;
    return answer;
}
#else
#define v_gmon absent
#endif

static int v_getspnam(char **a)
{
    if (getspnam(a[0]))
        return DONE;
    if (geteuid() != 0)
        errno = EPERM;
    return FAILED;
}

static int v_catopen(char **a) { return catopen(a[0], 0) == (nl_catd)-1 ? FAILED : DONE; }

static int v_nss_fopen(char **a)
{
    void *file = NULL;
    void *(*open_file)(const char *) = NULL;
    *(void **)&open_file = dlsym(RTLD_DEFAULT, "__nss_files_fopen");
    file = open_file ? open_file(a[0]) : fopen(a[0], "r");
    return file ? show(dup(fileno(file))) : FAILED;
}

const struct verb inside_verbs[] = {
    {"old_glob", 1, v_old_glob},
    {"old_glob_by_name", 1, v_old_glob_by_name},
    {"old_spawn", 1, v_old_spawn},
    {"wordexp_list", 1, v_wordexp_list},
    {"dlopen", 1, v_dlopen},
    {"dlopen_token", 1, v_dlopen_token},
    {"inotify", 1, v_inotify},
    {"raw_inotify", 1, v_raw_inotify},
    {"statfs", 1, v_statfs},
    {"raw_statfs", 1, v_raw_statfs},
    {"statvfs", 1, v_statvfs},
    {"pathconf", 1, v_pathconf},
    {"ftok", 1, v_ftok},
    {"raw_open_wide", 1, v_raw_open_wide},
    {"raw_refused", 1, v_raw_refused},
    {"refused", 1, v_refused},
    {"keys", 0, v_keys},
    {"mq_open", 1, v_mq_open},
    {"mq_make", 1, v_mq_make},
    {"mq_use", 1, v_mq_use},
    {"mq_unlink", 1, v_mq_unlink},
    {"names_work", 0, v_names_work},
    {"host_conf", 1, v_host_conf},
    {"ruserpass", 1, v_ruserpass},
    {"utmp_elsewhere", 1, v_utmp_elsewhere},
    {"getdate", 1, v_getdate},
    {"gmon", 1, v_gmon},
    {"getspnam", 1, v_getspnam},
    {"catopen", 1, v_catopen},
    {"nss_fopen", 1, v_nss_fopen},
    {NULL, 0, NULL},
};
