/* Names that one libc or one processor has and another has not. Include this after the system's headers. */
#ifndef ABSENT_H
#define ABSENT_H

#include "attack.h"
#include <sys/syscall.h>
#include <unistd.h>

int absent(char **args); /* the verb that is not available: ENOSYS */

/* A number that no system call has: ENOSYS, too. */
enum { ABSENT = 4095 };
#ifndef SYS_open
#define SYS_open ABSENT
#define SYS_creat ABSENT
#define SYS_rename ABSENT
#define SYS_unlink ABSENT
#endif

/* No version of musl has these functions, or only the latest ones do. */
#ifndef __GLIBC__
#define renameat2(...) ((int)syscall(SYS_renameat2, __VA_ARGS__))
#define close_range(...) ((int)syscall(SYS_close_range, __VA_ARGS__))
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE 2
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4
#endif

#endif
