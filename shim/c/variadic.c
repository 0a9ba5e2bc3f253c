/* Entry points with variable arguments, which Rust cannot define. Each extracts its arguments and calls Rust.
 * src/hooks/variadic.rs exports the names; everything here is hidden. */

#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>

#ifdef __linux__
/* O_TMPFILE needs _GNU_SOURCE. Without O_DIRECTORY, its value is the same on every 64-bit Linux. */
#define UNNAMED (020000000 | O_DIRECTORY)
#else
#define UNNAMED O_CREAT
#endif

#pragma GCC visibility push(hidden)

/* hooks/open.rs */
int jp_open(const char *path, int flags, unsigned mode);
int jp_openat(int dirfd, const char *path, int flags, unsigned mode);
#ifdef __linux__
/* hooks/posix_names.rs */
void *jp_sem_open(const char *name, int flags, unsigned mode, unsigned value);
int jp_mq_open(const char *name, int flags, unsigned mode, const void *attributes);
#endif
/* hooks/exec.rs */
int jp_execl(const char *path, const char *const argv[]);
int jp_execlp(const char *file, const char *const argv[]);
int jp_execle(const char *path, const char *const argv[], char *const envp[]);

int jp_variadic_open(const char *path, int flags, ...);
int jp_variadic_openat(int dirfd, const char *path, int flags, ...);
#ifdef __linux__
void *jp_variadic_sem_open(const char *name, int flags, ...);
int jp_variadic_mq_open(const char *name, int flags, ...);
#else
/* hooks/macos/names.rs */
int jp_open_protected(const char *path, int flags, unsigned mode);

int jp_variadic_open_protected(const char *path, int flags, int class, int options, ...);
#endif
int jp_variadic_execl(const char *path, const char *first, ...);
int jp_variadic_execlp(const char *file, const char *first, ...);
int jp_variadic_execle(const char *path, const char *first, ...);

#pragma GCC visibility pop

static int has_mode(int flags)
{
	return (flags & O_CREAT) || (flags & UNNAMED) == UNNAMED;
}

int jp_variadic_open(const char *path, int flags, ...)
{
	unsigned mode = 0;
	if (has_mode(flags)) {
		va_list list;
		va_start(list, flags);
		mode = va_arg(list, unsigned);
		va_end(list);
	}
	return jp_open(path, flags, mode);
}

int jp_variadic_openat(int dirfd, const char *path, int flags, ...)
{
	unsigned mode = 0;
	if (has_mode(flags)) {
		va_list list;
		va_start(list, flags);
		mode = va_arg(list, unsigned);
		va_end(list);
	}
	return jp_openat(dirfd, path, flags, mode);
}

#ifdef __linux__
void *jp_variadic_sem_open(const char *name, int flags, ...)
{
	unsigned mode = 0, value = 0;
	if (flags & O_CREAT) {
		va_list list;
		va_start(list, flags);
		mode = va_arg(list, unsigned);
		value = va_arg(list, unsigned);
		va_end(list);
	}
	return jp_sem_open(name, flags, mode, value);
}

int jp_variadic_mq_open(const char *name, int flags, ...)
{
	unsigned mode = 0;
	const void *attributes = NULL;
	if (flags & O_CREAT) {
		va_list list;
		va_start(list, flags);
		mode = va_arg(list, unsigned);
		attributes = va_arg(list, const void *);
		va_end(list);
	}
	return jp_mq_open(name, flags, mode, attributes);
}
#else
int jp_variadic_open_protected(const char *path, int flags, int class, int options, ...)
{
	unsigned mode = 0;
	if (has_mode(flags)) {
		va_list list;
		va_start(list, options);
		mode = va_arg(list, unsigned);
		va_end(list);
	}
	(void)class;
	return jp_open_protected(path, flags, mode);
}
#endif

/* The number of arguments from `first` up to, not including, the null pointer. */
static size_t count(const char *first, va_list *list)
{
	size_t n = 0;
	for (const char *argument = first; argument; argument = va_arg(*list, const char *))
		n++;
	return n;
}

/* Stores `n` arguments and the null pointer in `argv`. */
static void collect(const char **argv, size_t n, const char *first, va_list *list)
{
	argv[0] = first;
	for (size_t i = 1; i <= n; i++)
		argv[i] = va_arg(*list, const char *);
}

/* Collects `first` and the arguments after it in the array `argv`. Leaves `list` behind the null pointer that ends
 * them. */
#define COLLECT(argv, list, first)          \
	va_list list;                       \
	va_start(list, first);              \
	size_t n = count(first, &list);     \
	va_end(list);                       \
	const char *argv[n + 1];            \
	va_start(list, first);              \
	collect(argv, n, first, &list)

int jp_variadic_execl(const char *path, const char *first, ...)
{
	COLLECT(argv, list, first);
	va_end(list);
	return jp_execl(path, argv);
}

int jp_variadic_execlp(const char *file, const char *first, ...)
{
	COLLECT(argv, list, first);
	va_end(list);
	return jp_execlp(file, argv);
}

int jp_variadic_execle(const char *path, const char *first, ...)
{
	COLLECT(argv, list, first);
	/* The environment follows the null pointer. Without arguments, `first` is that pointer. */
	char *const *envp = va_arg(list, char *const *);
	va_end(list);
	return jp_execle(path, argv, envp);
}
