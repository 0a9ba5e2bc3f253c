/* The few functions of libc the shim uses, by weak references, which stable Rust has not: so the
 * library needs no libc by name, and the same file loads into glibc and musl programs. */

#include <stddef.h>

#define WEAK extern __attribute__((weak))

WEAK int *__errno_location(void);
WEAK void *fdopen(int fd, const char *mode);
WEAK void *fdopendir(int fd);
WEAK void *readdir(void *stream);
WEAK int closedir(void *stream);
WEAK int dirfd(void *stream);
WEAK int fileno(void *stream);
WEAK const char *gnu_get_libc_version(void);

static int no_errno;

int *jp_errno(void) {
	return __errno_location ? __errno_location() : &no_errno;
}

void *jp_fdopen(int fd, const char *mode) {
	return fdopen ? fdopen(fd, mode) : NULL;
}

void *jp_fdopendir(int fd) {
	return fdopendir ? fdopendir(fd) : NULL;
}

void *jp_readdir(void *stream) {
	return readdir ? readdir(stream) : NULL;
}

int jp_closedir(void *stream) {
	return closedir ? closedir(stream) : -1;
}

int jp_dirfd(void *stream) {
	return dirfd ? dirfd(stream) : -1;
}

int jp_fileno(void *stream) {
	return fileno ? fileno(stream) : -1;
}

/* Whether the program's libc is glibc, whose structures some hooks must know. */
int jp_libc_is_glibc(void) {
	return gnu_get_libc_version != NULL;
}
