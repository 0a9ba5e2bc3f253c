/* Ways to become or start a process that is not confined, and states that a process may be in. */
#include "attack.h"
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absent.h"

extern char **environ;

static int waited(pid_t child)
{
    int status;
    if (child < 0 || waitpid(child, &status, 0) < 0)
        return FAILED;
    if (WIFSIGNALED(status)) {
        printf("signal %d\n", WTERMSIG(status));
        return REPORTED;
    }
    if (WEXITSTATUS(status) >= 100) { /* the child could not start */
        errno = WEXITSTATUS(status) - 100;
        return FAILED;
    }
    return REPORTED;
}

/* self, then the rest of the line, as an argument vector or as one shell command. */
static char **self_vector(char **rest)
{
    static char *vector[32];
    size_t n = 1;
    vector[0] = self;
    for (; rest[n - 1] && n < 31; n++)
        vector[n] = rest[n - 1];
    vector[n] = NULL;
    return vector;
}

static char *self_command(char **rest)
{
    static char command[4096];
    size_t used = (size_t)snprintf(command, sizeof command, "'%s'", self);
    for (; *rest && used < sizeof command; rest++)
        used += (size_t)snprintf(command + used, sizeof command - used, " '%s'", *rest);
    return command;
}

/* Steps that change this process, then go on with the rest of the line. */
static int v_chdir(char **a) { return chdir(a[0]) ? FAILED : run(a + 1); }
static int v_fchdir(char **a)
{
    int fd = open(a[0], O_PATH | O_DIRECTORY);
    return fd < 0 || fchdir(fd) ? FAILED : run(a + 1);
}
static int v_fchdir_fd(char **a) { return fchdir(atoi(a[0])) ? FAILED : run(a + 1); }
static int v_close_all(char **a)
{
    for (int fd = 3; fd < 70000; fd++)
        close(fd);
    return run(a);
}
static int v_close_range(char **a) { return close_range(3, UINT_MAX, 0) ? FAILED : run(a); }
static int v_sys_close_range(char **a) { return syscall(SYS_close_range, 3, ~0U, 0) ? FAILED : run(a); }
#ifdef __GLIBC__
static int v_closefrom(char **a)
{
    closefrom(3);
    return run(a);
}
#else
#define v_closefrom absent
#endif
static int v_cloexec_range(char **a) { return close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC) ? FAILED : run(a); }
static int v_dup2_all(char **a)
{
    struct rlimit limit;
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || getrlimit(RLIMIT_NOFILE, &limit))
        return FAILED;
    for (int fd = 10; fd < 4096 && (rlim_t)fd < limit.rlim_cur; fd++)
        dup2(null, fd);
    return run(a);
}
static int v_empty_env(char **a)
{
    static char *nothing[] = {NULL};
    environ = nothing;
    return run(a);
}
static int v_clearenv(char **a) { return clearenv() ? FAILED : run(a); }
static int v_unset(char **a) { return unsetenv(a[0]) ? FAILED : run(a + 1); }
static int v_set(char **a) { return setenv(a[0], a[1], 1) ? FAILED : run(a + 2); }

static int v_append_to(char **a)
{
    char value[4096];
    const char *old = getenv(a[0]);
    snprintf(value, sizeof value, "%s%s", old ? old : "", a[1]);
    return setenv(a[0], value, 1) ? FAILED : run(a + 2);
}
static int v_prepend_to(char **a)
{
    char value[4096];
    const char *old = getenv(a[0]);
    snprintf(value, sizeof value, "%s%s", a[1], old ? old : "");
    return setenv(a[0], value, 1) ? FAILED : run(a + 2);
}
/* Runs the rest of the line without access to any file. */
static int v_landlock(char **a)
{
    unsigned long handled = (1 << 13) - 1; /* what the first version knows */
    if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* the version */) < 0)
        return FAILED;
    long ruleset = syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    if (ruleset < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_landlock_restrict_self, ruleset, 0))
        return FAILED;
    return run(a);
}

static int exhausted(unsigned spare, char **rest)
{
    struct rlimit limit = {64, 64};
    int last = -1;
    if (setrlimit(RLIMIT_NOFILE, &limit))
        return FAILED;
    for (int fd; (fd = dup(0)) >= 0;)
        last = fd;
    while (spare--)
        close(last--);
    return run(rest);
}
static int v_no_descriptors(char **a) { return exhausted(0, a); }
static int v_one_descriptor(char **a) { return exhausted(1, a); }

/* A working directory whose path is longer than any path may be. */
static int v_deep(char **a)
{
    char name[201];
    memset(name, 'd', 200);
    name[200] = 0;
    for (int i = 0; i < 30; i++)
        if (mkdir(name, 0755) || chdir(name))
            return FAILED;
    return run(a);
}

/* Other processes. */
static int v_fork(char **a)
{
    pid_t child = fork();
    if (child == 0)
        _exit(report(run(a)));
    return waited(child);
}
static int v_exec_self(char **a)
{
    char **vector = self_vector(a);
    return execve(self, vector, environ);
}
static int v_execvp_self(char **a)
{
    char **vector = self_vector(a);
    return execvp(self, vector);
}
static int v_sys_execve_self(char **a)
{
    char **vector = self_vector(a);
    return (int)syscall(SYS_execve, self, vector, environ);
}
static int v_fexecve_self(char **a)
{
    int fd = open(self, O_RDONLY | O_CLOEXEC);
    char **vector = self_vector(a);
    return fd < 0 ? FAILED : fexecve(fd, vector, environ);
}
static int v_execle_empty(char **a)
{
    static char *nothing[] = {NULL};
    return execle(self, self, a[0], a[1], (char *)NULL, nothing);
}
static int v_vfork_self(char **a)
{
    char **vector = self_vector(a);
    pid_t child = vfork();
    if (child == 0) {
        execve(self, vector, environ);
        _exit(100 + errno);
    }
    return waited(child);
}
static int v_spawn_self(char **a)
{
    pid_t child;
    errno = posix_spawn(&child, self, NULL, NULL, self_vector(a), environ);
    return errno ? FAILED : waited(child);
}
static int v_spawnp_null_env(char **a)
{
    pid_t child;
    errno = posix_spawnp(&child, self, NULL, NULL, self_vector(a), NULL);
    return errno ? FAILED : waited(child);
}
static int v_system_self(char **a) { return system(self_command(a)) < 0 ? FAILED : REPORTED; }
static int v_popen_self(char **a)
{
    char line[300] = "";
    FILE *pipe = popen(self_command(a), "r");
    if (!pipe)
        return FAILED;
    if (fgets(line, sizeof line, pipe))
        fputs(line, stdout);
    pclose(pipe);
    return REPORTED;
}

/* posix_spawn opens the file itself and gives it to the child as descriptor 7. */
static int v_spawn_addopen(char **a)
{
    char *rest[] = {"read_fd", "7", NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 7, a[0], O_RDONLY, 0);
    errno = posix_spawn(&child, self, &actions, NULL, self_vector(rest), environ);
    return errno ? FAILED : waited(child);
}
static int v_spawn_addopen_w(char **a)
{
    char *rest[] = {"stat", "/", NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 7, a[0], O_WRONLY | O_CREAT | O_TRUNC, 0644);
    errno = posix_spawn(&child, self, &actions, NULL, self_vector(rest), environ);
    return errno ? FAILED : waited(child);
}
static int v_spawn_addchdir(char **a)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, a[0]);
    errno = posix_spawn(&child, self, &actions, NULL, self_vector(a + 1), environ);
    return errno ? FAILED : waited(child);
}

static void *forking_thread(void *line)
{
    static int answer;
    answer = v_fork(line);
    return &answer;
}
static int v_thread_fork(char **a)
{
    pthread_t thread;
    void *answer = NULL;
    if ((errno = pthread_create(&thread, NULL, forking_thread, a)) || (errno = pthread_join(thread, &answer)))
        return FAILED;
    return *(int *)answer;
}

/* Starts another program as it is: `ok` if it could be started and ended with 0. */
static int v_exec(char **a) { return execv(a[0], a); }
static int v_execvp(char **a) { return execvp(a[0], a); }
static int v_exec_called(char **a)
{
    char *path = a[1];
    a[1] = a[0];
    return execv(path, a + 1);
}
static int v_exec_held(char **a)
{
    int fd = open(a[0], O_PATH | O_CLOEXEC);
    return fd < 0 ? FAILED : fexecve(fd, a, environ);
}
static int v_spawn(char **a)
{
    pid_t child;
    errno = posix_spawnp(&child, a[0], NULL, NULL, a, environ);
    return errno ? FAILED : waited(child);
}

/* Runs `PROGRAM A` again and again, while another thread makes the word `B` and `A` by turns. */
static char racing[] = "A";
static volatile int racing_is_over;
static void *racer(void *none)
{
    while (!racing_is_over)
        for (volatile int i = 0; i < 200; i++)
            *(volatile char *)racing = i < 100 ? 'A' : 'B';
    return none;
}
static int v_spawn_racing(char **a)
{
    char *line[] = {a[0], racing, NULL};
    pthread_t thread;
    pid_t child;
    if ((errno = pthread_create(&thread, NULL, racer, NULL)))
        return FAILED;
    for (int i = 0; i < 100; i++)
        if (posix_spawnp(&child, a[0], NULL, NULL, line, environ) == 0)
            waited(child);
    racing_is_over = 1;
    pthread_join(thread, NULL);
    return DONE;
}

/* A variable of the environment: by libc, and as the kernel keeps it. */
static int v_variable(char **a)
{
    const char *value = getenv(a[0]);
    if (value)
        found(value);
    errno = ENOENT;
    return value ? DONE : FAILED;
}
static int v_kept_variable(char **a)
{
    static char block[65536];
    int fd = open("/proc/self/environ", O_RDONLY);
    ssize_t length = fd < 0 ? FAILED : read(fd, block, sizeof block - 1);
    size_t name = strlen(a[0]);
    if (length < 0)
        return FAILED;
    close(fd);
    for (char *at = block; at < block + length; at += strlen(at) + 1)
        if (strncmp(at, a[0], name) == 0 && at[name] == '=') {
            found(at + name + 1);
            return DONE;
        }
    errno = ENOENT;
    return FAILED;
}

/* COUNT processes, each started by the one before, which then ends. */
static int v_chain(char **a)
{
    for (int left = atoi(a[0]); left > 0; left--) {
        pid_t next = fork();
        if (next < 0)
            return FAILED;
        usleep(300);
        if (next > 0)
            _exit(0);
    }
    return DONE;
}

const struct verb process_verbs[] = {
    {"chdir", 1, v_chdir},
    {"fchdir", 1, v_fchdir},
    {"fchdir_fd", 1, v_fchdir_fd},
    {"close_all", 0, v_close_all},
    {"close_range", 0, v_close_range},
    {"sys_close_range", 0, v_sys_close_range},
    {"closefrom", 0, v_closefrom},
    {"cloexec_range", 0, v_cloexec_range},
    {"dup2_all", 0, v_dup2_all},
    {"empty_env", 0, v_empty_env},
    {"clearenv", 0, v_clearenv},
    {"landlock", 0, v_landlock},
    {"unset", 1, v_unset},
    {"set", 2, v_set},
    {"append_to", 2, v_append_to},
    {"prepend_to", 2, v_prepend_to},
    {"no_descriptors", 0, v_no_descriptors},
    {"one_descriptor", 0, v_one_descriptor},
    {"deep", 0, v_deep},
    {"fork", 0, v_fork},
    {"exec_self", 0, v_exec_self},
    {"chain", 1, v_chain},
    {"execvp_self", 0, v_execvp_self},
    {"sys_execve_self", 0, v_sys_execve_self},
    {"fexecve_self", 0, v_fexecve_self},
    {"execle_empty", 2, v_execle_empty},
    {"vfork_self", 0, v_vfork_self},
    {"spawn_self", 0, v_spawn_self},
    {"spawnp_null_env", 0, v_spawnp_null_env},
    {"system_self", 0, v_system_self},
    {"popen_self", 0, v_popen_self},
    {"spawn_addopen", 1, v_spawn_addopen},
    {"spawn_addopen_w", 1, v_spawn_addopen_w},
    {"spawn_addchdir", 1, v_spawn_addchdir},
    {"thread_fork", 0, v_thread_fork},
    {"exec", 1, v_exec},
    {"execvp", 1, v_execvp},
    {"exec_called", 2, v_exec_called},
    {"exec_held", 1, v_exec_held},
    {"spawn", 1, v_spawn},
    {"spawn_racing", 1, v_spawn_racing},
    {"variable", 1, v_variable},
    {"kept_variable", 1, v_kept_variable},
    {0},
};
