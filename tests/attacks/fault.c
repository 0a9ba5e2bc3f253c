/* Runs steps during which system calls fail that usually do not. A filter of seccomp(2) answers in the kernel's place,
 * for this process and all that it becomes. setrlimit(2) leaves little room. */
#include "attack.h"
#if __has_include(<linux/filter.h>)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 1 };

/* Makes the system call `number` fail with `error` from now on. */
static int inject(unsigned number, unsigned error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return FAILED;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? FAILED : DONE;
}

/* NUMBER ERRNO, then the rest of the line. */
static int v_fault(char **a)
{
    return inject((unsigned)atoi(a[0]), (unsigned)atoi(a[1])) ? FAILED : run(a + 2);
}

/* Starts a program by its path, with its arguments. */
static int v_exec_line(char **a) { return execv(a[0], a); }

/* Runs one step in a process of its own, and prints its output and how that process ended. */
static int isolated(int index, unsigned number, unsigned error, char **step)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        alarm(SECONDS);
        _exit(report(error && inject(number, error) ? FAILED : run(step)));
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return FAILED;
    kill(-child, SIGKILL); /* processes that wait for something that cannot come now */
    if (WIFSIGNALED(status))
        printf("= %u %d signal %d\n", error, index, WTERMSIG(status));
    else
        printf("= %u %d exit %d\n", error, index, WEXITSTATUS(status));
    fflush(stdout);
    return DONE;
}

/* NUMBER ERRNO[:ERRNO]... STEP [; STEP]...: runs each step under each fault. Errno 0 is no fault. */
static int v_each_fault(char **a)
{
    char **steps[64];
    int count = 0;
    for (char **word = a + 2; *word && count < 64; word++) {
        steps[count++] = word;
        while (word[1] && strcmp(word[1], ";") != 0)
            word++;
        if (word[1])
            *++word = NULL;
    }
    for (char *error = strtok(a[1], ":"); error; error = strtok(NULL, ":"))
        for (int i = 0; i < count; i++)
            if (isolated(i, (unsigned)atoi(a[0]), (unsigned)atoi(error), steps[i]))
                return FAILED;
    return REPORTED;
}

/* RESOURCE VALUE, then the rest of the line. */
static int v_limit(char **a)
{
    static const struct { const char *name; int resource; } limits[] = {
        {"NOFILE", RLIMIT_NOFILE}, {"AS", RLIMIT_AS}, {"STACK", RLIMIT_STACK}, {"FSIZE", RLIMIT_FSIZE}};
    struct rlimit limit = {strtoul(a[1], NULL, 10), strtoul(a[1], NULL, 10)};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (strcmp(a[0], limits[i].name) == 0)
            return setrlimit(limits[i].resource, &limit) ? FAILED : run(a + 2);
    errno = EINVAL;
    return FAILED;
}

#else
#include "absent.h"
#define v_fault absent
#define v_exec_line absent
#define v_each_fault absent
#define v_limit absent
#endif

const struct verb fault_verbs[] = {
    {"fault", 3, v_fault},
    {"exec_line", 1, v_exec_line},
    {"each_fault", 3, v_each_fault},
    {"limit", 3, v_limit},
    {0},
};
