/* The few libc functions that the library uses, as weak references, which stable Rust lacks. So the library names
 * no libc as needed, and the same file loads into glibc and musl programs. */

#include <stddef.h>

#define WEAK extern __attribute__((weak))
/* Code that runs when the library is loaded lies in one place, so that few pages are mapped for it. */
#define COLD __attribute__((cold))

WEAK int *__errno_location(void);
WEAK void *fdopen(int fd, const char *mode);
WEAK void *fdopendir(int fd);
WEAK void *readdir(void *stream);
WEAK int closedir(void *stream);
WEAK int dirfd(void *stream);
WEAK int fileno(void *stream);
WEAK char *strdup(const char *text);
WEAK int sem_init(void *semaphore, int shared, unsigned value);
WEAK int pthread_setcanceltype(int type, int *before);
WEAK int pthread_setcancelstate(int state, int *before);
WEAK void _pthread_cleanup_push(void *place, void (*undo)(void *), void *argument);
WEAK void _pthread_cleanup_pop(void *place, int call);
WEAK const char *gnu_get_libc_version(void);
/* The program break that glibc's brk(2) and sbrk(2) set last. */
WEAK void *__curbrk;

static int no_errno;

int *jp_errno(void) {
	return __errno_location ? __errno_location() : &no_errno;
}

COLD void *jp_program_break(void) {
	return &__curbrk ? __curbrk : NULL;
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

char *jp_copy(const char *text) {
	return strdup ? strdup(text) : NULL;
}

int jp_sem_init(void *semaphore, unsigned value) {
	return sem_init ? sem_init(semaphore, 1, value) : -1;
}

/* Sets the cancellation type and returns the previous one. */
int jp_cancel_type(int type) {
	int before = type;
	if (pthread_setcanceltype)
		pthread_setcanceltype(type, &before);
	return before;
}

/* Sets the cancellation state and returns the previous one. */
int jp_cancel_state(int state) {
	int before = state;
	if (pthread_setcancelstate)
		pthread_setcancelstate(state, &before);
	return before;
}

/* The effect of pthread_cleanup_push(3) and pthread_cleanup_pop(3) in functions that unwind nothing. */
void jp_cleanup_push(void *place, void (*undo)(void *), void *argument) {
	if (_pthread_cleanup_push && _pthread_cleanup_pop)
		_pthread_cleanup_push(place, undo, argument);
}

void jp_cleanup_pop(void *place) {
	if (_pthread_cleanup_push && _pthread_cleanup_pop)
		_pthread_cleanup_pop(place, 0);
}

/* Whether the program's libc is glibc, whose structures some hooks must know. */
COLD int jp_libc_is_glibc(void) {
	return gnu_get_libc_version != NULL;
}
