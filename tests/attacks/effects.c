/* Effects of calls beside their answer, one line each: errno that stays as it was, the mask of modes, signals and
 * cancellation during a wait, and what children inherit. */
#include "attack.h"
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int ends(FILE *stream)
{
    return stream ? fclose(stream) : -1;
}

static int visit(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)path, (void)status, (void)kind, (void)where;
    return 0;
}

/* A call that succeeds leaves errno as it was, whatever the call tried. */
#define KEEPS(call)                                                       \
    do {                                                                  \
        errno = 77;                                                       \
        int answer = (call) < 0;                                          \
        printf("%s: %s, errno %d\n", #call, answer ? "fails" : "ok", errno); \
    } while (0)

static int v_errno_kept(char **a)
{
    struct stat status;
    char buffer[100], name[] = "parent/XXXXXX", directory[] = "parent/XXXXXX";
    glob_t found;
    (void)a;
    if (mkdir("dir/below", 0755) || symlink("dir", "parent") || symlink("file", "link"))
        return FAILED;
    KEEPS(open("file", O_RDONLY));
    KEEPS(open("link", O_RDONLY));
    KEEPS(open("parent/new", O_WRONLY | O_CREAT, 0644));
    KEEPS(open("parent/../file", O_RDWR));
    KEEPS(open("/proc/self/fd/0", O_RDONLY));
    KEEPS(creat("parent/other", 0644));
    KEEPS(stat("link", &status));
    KEEPS(access("link", R_OK));
    KEEPS(readlink("link", buffer, sizeof buffer));
    KEEPS(mkdir("parent/made", 0755));
    KEEPS(rename("parent/made", "parent/moved"));
    KEEPS(rmdir("parent/moved"));
    KEEPS(link("parent/new", "parent/second"));
    KEEPS(symlink("text", "parent/third"));
    KEEPS(unlink("parent/second"));
    KEEPS(rmdir("parent/below"));
    KEEPS(chmod("link", 0644));
    KEEPS(truncate("link", 0));
    KEEPS(ends(fopen("link", "r")));
    KEEPS(ends(freopen("link", "r", fopen("file", "r"))));
    KEEPS(ends(freopen("link", "re", fopen("file", "r"))));
    KEEPS(closedir(opendir("parent")));
    KEEPS(mkstemp(name));
    KEEPS(mkdtemp(directory) ? 0 : -1);
    KEEPS(ends(tmpfile()));
    KEEPS(glob("parent/*", 0, NULL, &found) ? -1 : 0);
    KEEPS(realpath("parent", buffer) ? 0 : -1);
    KEEPS(system("exit 0"));
    KEEPS(chdir("parent"));
    errno = 77;
    printf("nftw: %s, errno is %szero\n", nftw("../dir", visit, 4, 0) ? "fails" : "ok", errno ? "not " : "");
    return DONE;
}

static void mode_of(const char *call, const char *name, int fd)
{
    struct stat status;
    int known = name ? lstat(name, &status) : fstat(fd, &status);
    printf("%s: %o\n", call, known ? 0 : status.st_mode);
}

static int bound(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, name);
    return bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address);
}

/* Every new file gets the mode that was asked for, less the mask. */
static int v_masks(char **a)
{
    static const mode_t masks[] = {0, 022, 077, 0777};
    (void)a;
    if (symlink("dir", "parent"))
        return FAILED;
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        char file[] = "dir/XXXXXX", directory[] = "parent/XXXXXX", name[50];
        sprintf(name, "parent/%zu", i);
        umask(masks[i]);
        close(open(name, O_WRONLY | O_CREAT, 0777));
        mode_of("open", name, -1);
        unlink(name);
        close(open(name + 7, O_WRONLY | O_CREAT | O_EXCL, 01777));
        mode_of("open sticky", name + 7, -1);
        unlink(name + 7);
        close(creat(name, 0666));
        mode_of("creat", name, -1);
        unlink(name);
        ends(fopen(name, "w"));
        mode_of("fopen", name, -1);
        unlink(name);
        mkdir(name, 01777);
        mode_of("mkdir", name, -1);
        rmdir(name);
        mkfifo(name, 0666);
        mode_of("mkfifo", name, -1);
        unlink(name);
        mknod(name, S_IFREG | 0640, 0);
        mode_of("mknod", name, -1);
        unlink(name);
        bound(name);
        mode_of("bind", name, -1);
        unlink(name);
        mode_of("mkstemp", NULL, mkstemp(file));
        mode_of("mkdtemp", mkdtemp(directory), -1);
        mode_of("O_TMPFILE", NULL, open("parent", O_WRONLY | O_TMPFILE, 0666));
        mode_of("tmpfile", NULL, fileno(tmpfile()));
    }
    return DONE;
}

static void inherited(const char *call, int fd)
{
    int flags = fcntl(fd, F_GETFD);
    printf("%s: %s\n", call, flags < 0 ? errno_name(errno) : flags & FD_CLOEXEC ? "closed" : "kept");
    close(fd);
}

/* Which of the descriptors that calls return are closed when another program starts. */
static int v_inherited(char **a)
{
    static const struct { const char *label, *name; int flags; } rows[] = {
        {"plain", "file", O_RDONLY},        {"by a link", "link", O_RDONLY},
        {"by a parent", "parent/f", O_WRONLY | O_CREAT}, {"held", "link", O_PATH},
        {"unnamed", "parent", O_WRONLY | O_TMPFILE},     {"by its number", "/proc/self/fd/0", O_RDONLY},
    };
    (void)a;
    if (symlink("dir", "parent") || symlink("file", "link"))
        return FAILED;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        inherited(rows[i].label, open(rows[i].name, rows[i].flags, 0644));
        inherited(rows[i].label, open(rows[i].name, rows[i].flags | O_CLOEXEC, 0644));
    }
    char first[] = "parent/XXXXXX", second[] = "parent/XXXXXX";
    inherited("creat", creat("parent/f", 0644));
    inherited("fopen", fileno(fopen("link", "r")));
    inherited("fopen e", fileno(fopen("link", "re")));
    inherited("freopen", fileno(freopen("link", "r", fopen("file", "r"))));
    inherited("freopen e", fileno(freopen("link", "re", fopen("file", "r"))));
    inherited("opendir", dirfd(opendir("parent")));
    inherited("mkstemp", mkstemp(first));
    inherited("mkostemp", mkostemp(second, O_CLOEXEC));
    inherited("tmpfile", fileno(tmpfile()));
    inherited("popen", fileno(popen(":", "r")));
    inherited("popen e", fileno(popen(":", "re")));
    return DONE;
}

/* Calls that wait for the other end of a fifo, by name. */
typedef int opening(const char *name);

static int o_open(const char *name) { return open(name, O_RDONLY); }
static int o_openat(const char *name) { return openat(AT_FDCWD, name, O_WRONLY | O_CLOEXEC); }
static int o_creat(const char *name) { return creat(name, 0644); }
static int o_syscall(const char *name) { return (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY); }
static int o_fopen(const char *name)
{
    FILE *stream = fopen(name, "r");
    return stream ? fileno(stream) : -1;
}

static const struct { const char *label; opening *open; } openings[] = {
    {"open", o_open},   {"openat", o_openat},   {"creat", o_creat},
    {"fopen", o_fopen}, {"syscall", o_syscall},
};
static const char *const waits[] = {"fifo", "parent/fifo", "link"};

static int make_waits(void)
{
    return symlink("dir", "parent") || symlink("fifo", "link") || mkfifo("fifo", 0644) ||
           mkfifo("dir/fifo", 0644);
}

static void rest(long milliseconds)
{
    struct timespec left = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&left, &left))
        ;
}

static volatile sig_atomic_t rings;

static void ring(int signal)
{
    (void)signal;
    rings++;
}

/* Ends a wait that nothing interrupts. */
static void *other_end(void *name)
{
    rest(300);
    int fd = open(name, O_RDWR);
    rest(100);
    close(fd);
    return NULL;
}

/* One signal ends the wait. Nothing else would for a second. */
static void interrupted_once(const char *label, opening *call, const char *name)
{
    static const struct itimerval soon = {{0, 0}, {0, 200000}};
    struct sigaction action = {.sa_handler = ring};
    sigaction(SIGALRM, &action, NULL);
    pid_t opener = fork();
    if (opener == 0) {
        rest(1200);
        _exit(open(name, O_RDWR) < 0 || usleep(100000));
    }
    setitimer(ITIMER_REAL, &soon, NULL);
    int fd = call(name);
    printf("%s %s once: %s\n", label, name, fd < 0 ? errno_name(errno) : "ok");
    close(fd);
    kill(opener, SIGKILL);
    waitpid(opener, NULL, 0);
}

/* A signal ends the wait, unless its action says that calls go on. */
static int v_interrupted(char **a)
{
    static const struct itimerval often = {{0, 40000}, {0, 40000}}, never;
    (void)a;
    if (make_waits())
        return FAILED;
    for (size_t i = 0; i < sizeof openings / sizeof *openings; i++)
        for (size_t w = 0; w < sizeof waits / sizeof *waits; w++)
            for (int restart = 0; restart < 2; restart++) {
                struct sigaction action = {.sa_handler = ring, .sa_flags = restart ? SA_RESTART : 0};
                pthread_t opener;
                sigset_t alarms;
                sigemptyset(&alarms);
                sigaddset(&alarms, SIGALRM);
                sigaction(SIGALRM, &action, NULL);
                pthread_sigmask(SIG_BLOCK, &alarms, NULL);
                if (restart)
                    pthread_create(&opener, NULL, other_end, (void *)waits[w]);
                pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
                rings = 0;
                setitimer(ITIMER_REAL, &often, NULL);
                int fd = openings[i].open(waits[w]);
                int error = errno;
                setitimer(ITIMER_REAL, &never, NULL);
                printf("%s %s%s: %s, %s\n", openings[i].label, waits[w], restart ? " restarting" : "",
                       fd < 0 ? errno_name(error) : "ok", rings ? "after a signal" : "without one");
                if (restart)
                    pthread_join(opener, NULL);
                close(fd);
            }
    for (size_t i = 0; i < sizeof openings / sizeof *openings; i++)
        for (size_t w = 0; w < sizeof waits / sizeof *waits; w++)
            interrupted_once(openings[i].label, openings[i].open, waits[w]);
    return DONE;
}

static volatile int cleaned;

static void clean(void *nothing)
{
    (void)nothing;
    cleaned = 1;
}

struct attempt {
    opening *open;
    const char *name;
    int pending, disabled;
};

static void *attempt(void *data)
{
    const struct attempt *this = data;
    pthread_cleanup_push(clean, NULL);
    if (this->disabled)
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    if (this->pending)
        pthread_cancel(pthread_self());
    int fd = this->open(this->name);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    close(fd);
    pthread_cleanup_pop(0);
    return NULL;
}

/* Runs an attempt in a thread, cancels the thread while it waits, and prints the outcome. */
static void cancelled(const char *label, const struct attempt this)
{
    pthread_t thread;
    void *result = NULL;
    struct timespec limit;
    cleaned = 0;
    pthread_create(&thread, NULL, attempt, (void *)&this);
    if (!this.pending) {
        rest(60);
        pthread_cancel(thread);
    }
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 2;
    int waits_on = pthread_timedjoin_np(thread, &result, &limit);
    if (waits_on) {
        int end = open(this.name, O_RDWR);
        pthread_join(thread, &result);
        close(end);
    }
    printf("%s %s%s%s: %s%s%s\n", label, this.name, this.pending ? " pending" : "",
           this.disabled ? " disabled" : "", waits_on ? "waits on, " : "",
           result == PTHREAD_CANCELED ? "cancelled" : "returns", cleaned ? ", cleaned up" : "");
}

static int o_stat(const char *name)
{
    struct stat status;
    return stat(name, &status);
}
static int o_opendir(const char *name) { return opendir(name) ? 0 : -1; }
static int o_unlink(const char *name) { return unlink(name); }
static int o_mkstemp(const char *name)
{
    char template[50];
    sprintf(template, "%sXXXXXX", name);
    return mkstemp(template);
}
static int o_system(const char *command) { return system(command); }
static int o_connect(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, name);
    return connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address);
}
static int o_sendto_path(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, name);
    return (int)sendto(socket(AF_UNIX, SOCK_DGRAM, 0), "x", 1, 0, (struct sockaddr *)&address, sizeof address);
}
static int o_tmpfile(const char *name)
{
    (void)name;
    return tmpfile() ? 0 : -1;
}
/* Nobody takes what is sent. Once the buffer is full, the call waits, for a second at most. */
static int o_sendto(const char *name)
{
    static const char bytes[4096];
    static const struct timeval most = {1, 0};
    int ends[2];
    (void)name;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ||
        setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most))
        return -1;
    while (sendto(ends[0], bytes, sizeof bytes, 0, NULL, 0) > 0)
        ;
    return -1;
}

/* Calls in which a thread may be cancelled (pthreads(7)), and calls in which it may not. */
static int v_cancelled(char **a)
{
    static const struct { const char *label; opening *call; const char *name; } points[] = {
        {"open", o_open, "file"},       {"openat", o_openat, "file"},  {"creat", o_creat, "file"},
        {"fopen", o_fopen, "file"},     {"syscall", o_syscall, "file"}, {"open", o_open, "file link"},
        {"open", o_open, "missing"},    {"stat", o_stat, "file"},      {"opendir", o_opendir, "parent"},
        {"unlink", o_unlink, "missing"}, {"mkstemp", o_mkstemp, "dir/"}, {"system", o_system, ":"},
        {"connect", o_connect, "fifo"}, {"sendto", o_sendto, "full"},  {"connect", o_connect, "missing"},
        {"sendto", o_sendto_path, "missing"}, {"tmpfile", o_tmpfile, "/tmp"},
    };
    (void)a;
    if (make_waits() || symlink("file", "file link"))
        return FAILED;
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        cancelled(points[i].label, (struct attempt){points[i].call, points[i].name, 1, 0});
    cancelled("open", (struct attempt){o_open, "file", 1, 1});
    for (size_t i = 0; i < sizeof openings / sizeof *openings; i++)
        for (size_t w = 0; w < sizeof waits / sizeof *waits; w++)
            cancelled(openings[i].label, (struct attempt){openings[i].open, waits[w], 0, 0});
    cancelled("sendto", (struct attempt){o_sendto, "full", 0, 0});
    cancelled("system", (struct attempt){o_system, "sleep 0.3; : > ran", 0, 0});
    rest(400);
    struct sigaction interrupt;
    sigaction(SIGINT, NULL, &interrupt);
    printf("the command %s, SIGINT is %s\n", access("ran", F_OK) ? "was ended" : "went on",
           interrupt.sa_handler == SIG_IGN ? "ignored" : "as before");
    return DONE;
}

const struct verb effect_verbs[] = {
    {"errno_kept", 0, v_errno_kept},
    {"masks", 0, v_masks},
    {"inherited", 0, v_inherited},
    {"interrupted", 0, v_interrupted},
    {"cancelled", 0, v_cancelled},
    {0},
};
