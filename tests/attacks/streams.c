/* Streams that are opened again, and shells that are waited for: the effects on the file, on the old stream, and on
 * signals. */
#include "attack.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>
#ifdef __GLIBC__
#include <fts.h>
#endif

/* Opens a stream on "file" again as something else. */
static void again(const char *name, const char *mode)
{
    char text[20] = "";
    FILE *old = fopen("file", "r"), *stream;
    int fd = fileno(old);
    errno = 0;
    stream = freopen(name, mode, old);
    printf("%s %s: %s", name, mode, stream ? "ok" : errno_name(errno));
    if (!stream) {
        printf(", the old one is %s\n", fcntl(fd, F_GETFD) < 0 ? "closed" : "open");
        return;
    }
    printf(", the same number %d, flags %x, at %ld", fileno(stream) == fd, fcntl(fd, F_GETFL) & ~O_NOFOLLOW, ftell(stream));
    if (strpbrk(mode, "wa+") && fputs("more", stream) >= 0)
        rewind(stream);
    printf(", reads '%s'\n", fgets(text, sizeof text, stream) ? text : "");
    fclose(stream);
}

/* The other end writes and leaves. A program that opened the fifo twice would wait for another writer. */
static void left_fifo(void)
{
    char text[10] = "";
    pid_t writer = fork();
    if (writer == 0) {
        int fd = open("fifo", O_WRONLY);
        _exit(write(fd, "said", 4) != 4);
    }
    FILE *stream = freopen("fifo", "r", fopen("file", "r"));
    waitpid(writer, NULL, 0);
    printf("fifo: '%s'\n", stream && fgets(text, sizeof text, stream) ? text : "");
    fclose(stream);
}

static int v_reopened(char **a)
{
    static const char *const modes[] = {"r", "r+", "w", "w+", "a", "a+", "wx", "re", "z"};
    struct stat status;
    (void)a;
    if (symlink("file", "link") || mkfifo("fifo", 0644))
        return FAILED;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        again("link", modes[i]);
        again("new", modes[i]);
        again("missing/new", modes[i]);
        unlink("new");
    }
    for (int i = 0; i < 5; i++)
        left_fifo();
    FILE *old = fopen("file", "r");
    umask(0777);
    FILE *stream = freopen("dark", "w", old);
    printf("without rights: %s, mode %o\n", stream ? "ok" : errno_name(errno),
           stat("dark", &status) ? 0 : status.st_mode);
    return DONE;
}

/* Opens a stream that converts, and prints the outcome. */
static FILE *converting(const char *name, const char *mode)
{
    errno = 0;
    FILE *stream = fopen(name, mode);
    printf("%s %s: %s", name, mode, stream ? "ok" : errno_name(errno));
    return stream;
}

static void read_converted(const char *name, const char *mode)
{
    FILE *stream = converting(name, mode);
    for (wint_t c; stream && (c = fgetwc(stream)) != WEOF;)
        printf(" %x", c);
    printf(", flags %x\n", stream ? fcntl(fileno(stream), F_GETFL) & ~O_NOFOLLOW : 0);
}

/* Streams with a character set of their own (fopen(3), ",ccs="). */
static int v_converted(char **a)
{
    (void)a;
    FILE *stream = converting("converted", "wx,ccs=UTF-8");
    printf(", %d\n", stream ? fputws(L"A\x263a", stream) >= 0 && fclose(stream) == 0 : -1);
    read_converted("converted", "r,ccs=UTF-8");
    read_converted("converted", "re,ccs=UTF-16LE");
    read_converted("converted", "r");
    read_converted("converted", "wx,ccs=UTF-8");
    read_converted("converted", "r,ccs=NOPE");
    read_converted("missing", "r,ccs=NOPE");
    stream = freopen("converted", "r,ccs=UTF-8", fopen("file", "r"));
    printf("again: %x %x\n", stream ? fgetwc(stream) : 0, stream ? fgetwc(stream) : 0);
    return DONE;
}

#ifdef __GLIBC__
/* Walks from roots that are no directory, each beside one that is. */
static int v_walks(char **a)
{
    static const char *const others[] = {"missing", "loop", "file/", "file/x", "link", "out"};
    static const int options[] = {FTS_PHYSICAL, FTS_LOGICAL, FTS_PHYSICAL | FTS_COMFOLLOW};
    (void)a;
    if (symlink("loop", "loop") || symlink("file", "link") || symlink("/nowhere", "out"))
        return FAILED;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char *roots[] = {(char *)others[i], "file", NULL};
        for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
            /* A symlink that is followed for ever is denied. */
            if (i == 1 && options[k] != FTS_PHYSICAL)
                continue;
            errno = 0;
            FTS *tree = fts_open(roots, options[k] | FTS_NOCHDIR, NULL);
            printf("%s %d: %s", others[i], options[k], tree ? "ok" : errno_name(errno));
            for (FTSENT *e; tree && (e = fts_read(tree));)
                printf(" %s %d %d", e->fts_path, e->fts_info, e->fts_errno);
            printf("\n");
        }
    }
    return DONE;
}
#else
#define v_walks absent
#endif

static void *second(void *status)
{
    usleep(100000);
    /* A shell that starts with SIGINT ignored does not die of it. */
    *(int *)status = system("sleep 0.3; kill -INT $$; exit 3");
    return NULL;
}

/* Shells that are waited for at the same time, and streams to shells, which fclose(3) ends. */
static int v_shells(char **a)
{
    /* By a pointer, because compilers know that these streams need pclose(3). */
    int (*volatile ends)(FILE *) = fclose;
    int status = -1, ended = 0;
    pthread_t thread;
    struct sigaction now;
    (void)a;
    pthread_create(&thread, NULL, second, &status);
    printf("the first: %d\n", system("sleep 0.2"));
    pthread_join(thread, NULL);
    printf("the second died of SIGINT: %d\n", WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    for (size_t i = 0; i < 2; i++) {
        int signal = i ? SIGQUIT : SIGINT;
        sigaction(signal, NULL, &now);
        printf("%d is %s\n", signal, now.sa_handler == SIG_DFL ? "as before" : "changed");
    }
    for (int i = 0; i < 300; i++) {
        FILE *stream = popen("exit 3", "r");
        ended += stream && ends(stream) == 3 << 8;
    }
    printf("closed with a status: %d, left: %d\n", ended, waitpid(-1, NULL, WNOHANG) >= 0);
    return DONE;
}

const struct verb stream_verbs[] = {
    {"reopened", 0, v_reopened},
    {"converted", 0, v_converted},
    {"walks", 0, v_walks},
    {"shells", 0, v_shells},
    {0},
};
