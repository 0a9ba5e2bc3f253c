/* Programs that other programs of the run trace. */
#include "stress.h"
#include <sys/ptrace.h>
#include <sys/user.h>

#ifdef __x86_64__
#define NUMBER(registers) (registers).orig_rax
#define SECOND(registers) (registers).rsi
#define RESULT(registers) (registers).rax

static pid_t tracee(const char *path) {
    pid_t child = fork();
    must(child >= 0, "a child");
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        long file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY);
        _exit(file >= 0 ? 0 : errno);
    }
    int status;
    must(waitpid(child, &status, 0) == child && WIFSTOPPED(status), "a stop");
    return child;
}

static void report(int status) {
    if (WIFEXITED(status)) printf("%s\n", WEXITSTATUS(status) ? strerrorname_np(WEXITSTATUS(status)) : "ok");
    else printf("status %x\n", status);
}

/* ALLOWED [FORBIDDEN]: the tracer stops each call, and puts the second path in place of the first. */
void traced(char **arguments) {
    pid_t child = tracee(arguments[0]);
    ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD);
    int status = 0, stops = 0;
    for (;;) {
        must(ptrace(PTRACE_SYSCALL, child, 0, 0) == 0, "to go on");
        must(waitpid(child, &status, 0) == child, "a stop");
        if (!WIFSTOPPED(status)) break;
        struct user_regs_struct registers;
        ptrace(PTRACE_GETREGS, child, 0, &registers);
        stops++;
        if (NUMBER(registers) == SYS_openat && RESULT(registers) == (unsigned long)-ENOSYS && arguments[1]) {
            /* Both have the same memory layout, so this program's text is there, too. */
            SECOND(registers) = (unsigned long)arguments[1];
            ptrace(PTRACE_SETREGS, child, 0, &registers);
        }
    }
    must(stops > 1, "stops");
    report(status);
}

/* PATH: steps through every instruction, the call included. */
void stepped(char **arguments) {
    pid_t child = tracee(arguments[0]);
    int status = 0;
    for (;;) {
        must(ptrace(PTRACE_SINGLESTEP, child, 0, 0) == 0, "to go on");
        must(waitpid(child, &status, 0) == child, "a stop");
        if (!WIFSTOPPED(status)) break;
    }
    report(status);
}

#ifndef PTRACE_O_SUSPEND_SECCOMP
#define PTRACE_O_SUSPEND_SECCOMP (1 << 21)
#endif

/* A tracer of the run must not remove the filter, even if it is root. */
void suspended(char **arguments) {
    pid_t child = tracee(arguments[0]);
    printf("%s\n", said(ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_SUSPEND_SECCOMP)));
    kill(child, SIGKILL);
}
#else
static void absent(void) { printf("not here\n"); }
void traced(char **arguments) { (void)arguments; absent(); }
void stepped(char **arguments) { (void)arguments; absent(); }
void suspended(char **arguments) { (void)arguments; absent(); }
#endif
