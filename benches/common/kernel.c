/* Confines a program by the kernel's layers alone, at their least cost. A Landlock domain allows everything below a
 * few places, and a filter denies one call. Any further cost of jp-confine is its own.
 *
 *   kernel [--no-filter] -- PROGRAM [ARGUMENT]...
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* All rights of version 5: from EXECUTE to IOCTL_DEV. */
#define ALL 0xffffULL

static void must(int good, const char *what)
{
    if (!good) {
        perror(what);
        exit(1);
    }
}

static void allow_below(int ruleset, const char *place)
{
    int fd = open(place, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return;
    struct landlock_path_beneath_attr rule = { .allowed_access = ALL, .parent_fd = fd };
    must(!syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0), place);
    close(fd);
}

int main(int argc, char **argv)
{
    int has_filter = argc > 1 && strcmp(argv[1], "--no-filter") != 0;
    int first = has_filter ? 2 : 3;
    if (argc <= first)
        return 2;
    struct landlock_ruleset_attr handled = { .handled_access_fs = ALL };
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    must(ruleset >= 0, "landlock");
    const char *places[] = {
        ".", "/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/tmp", "/usr", getenv("HOME"),
    };
    for (size_t n = 0; n < sizeof places / sizeof *places; n++)
        if (places[n])
            allow_below(ruleset, places[n]);
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
    must(syscall(SYS_landlock_restrict_self, ruleset, 0) == 0, "landlock_restrict_self");

    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mount, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { .len = sizeof code / sizeof *code, .filter = code };
    must(!has_filter || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0, "seccomp");
    execvp(argv[first], argv + first);
    perror(argv[first]);
    return 127;
}
