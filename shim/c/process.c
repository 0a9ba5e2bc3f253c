/* The libc functions that the library uses to start programs, as weak references (see libc.c). */

#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <string.h>

#pragma GCC visibility push(default)
#pragma weak environ
#pragma weak getauxval
#pragma weak posix_spawnattr_getflags
#pragma weak posix_spawnattr_getpgroup
#pragma weak posix_spawnattr_getschedparam
#pragma weak posix_spawnattr_getschedpolicy
#pragma weak posix_spawnattr_getsigdefault
#pragma weak posix_spawnattr_getsigmask
extern char **environ;
unsigned long getauxval(unsigned long entry);
#pragma GCC visibility pop

/* The caller's environment. */
char **jp_environ(void)
{
	return &environ ? environ : NULL;
}

unsigned long jp_auxiliary(unsigned long entry)
{
	return getauxval ? getauxval(entry) : 0;
}

/* The attributes of posix_spawn(3); the same as `Attributes` in src/spawn/attributes.rs. */
struct jp_attributes {
	unsigned long defaults;
	unsigned long mask;
	int flags;
	int group;
	int policy;
	int priority;
};

/* The signals 1 to 64 of a set, as the kernel holds them. */
static unsigned long signals(const sigset_t *set)
{
	unsigned long word;
	memcpy(&word, set, sizeof word);
	return word;
}

/* Reads the attributes in `from` through libc. Returns zero or an error number. */
int jp_attributes(const posix_spawnattr_t *from, struct jp_attributes *to)
{
	short flags;
	sigset_t set;
	struct sched_param parameter;
	int error;

	if (!posix_spawnattr_getflags || !posix_spawnattr_getpgroup || !posix_spawnattr_getsigdefault ||
	    !posix_spawnattr_getsigmask)
		return -1;
	if ((error = posix_spawnattr_getflags(from, &flags)))
		return error;
	to->flags = (unsigned short)flags;
	if ((error = posix_spawnattr_getpgroup(from, &to->group)))
		return error;
	if ((error = posix_spawnattr_getsigdefault(from, &set)))
		return error;
	to->defaults = signals(&set);
	if ((error = posix_spawnattr_getsigmask(from, &set)))
		return error;
	to->mask = signals(&set);
	if (!(flags & (POSIX_SPAWN_SETSCHEDPARAM | POSIX_SPAWN_SETSCHEDULER)))
		return 0;
	if (!posix_spawnattr_getschedparam || !posix_spawnattr_getschedpolicy)
		return -1;
	if ((error = posix_spawnattr_getschedparam(from, &parameter)))
		return error;
	to->priority = parameter.sched_priority;
	return posix_spawnattr_getschedpolicy(from, &to->policy);
}
