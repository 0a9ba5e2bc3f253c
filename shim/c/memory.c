/* What the compiler calls for copies and comparisons, so that the shim needs no libc for them.
 * Hidden: the program keeps its own. Paths are short: simple loops over words do. */

#include <stddef.h>
#include <stdint.h>

typedef uint64_t word __attribute__((may_alias, aligned(1)));

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
	unsigned char *out = to;
	const unsigned char *in = from;
	for (; n >= sizeof(word); n -= sizeof(word), out += sizeof(word), in += sizeof(word))
		*(word *)out = *(const word *)in;
	for (; n; n--)
		*out++ = *in++;
	return to;
}

void *memmove(void *to, const void *from, size_t n) {
	unsigned char *out = to;
	const unsigned char *in = from;
	if (out < in) {
		for (size_t i = 0; i < n; i++)
			out[i] = in[i];
	} else {
		for (size_t i = n; i > 0; i--)
			out[i - 1] = in[i - 1];
	}
	return to;
}

void *memset(void *to, int byte, size_t n) {
	unsigned char *out = to;
	for (size_t i = 0; i < n; i++)
		out[i] = (unsigned char)byte;
	return to;
}

int memcmp(const void *a, const void *b, size_t n) {
	const unsigned char *left = a, *right = b;
	for (size_t i = 0; i < n; i++)
		if (left[i] != right[i])
			return left[i] - right[i];
	return 0;
}

int bcmp(const void *a, const void *b, size_t n) {
	return memcmp(a, b, n);
}

size_t strlen(const char *text) {
	size_t n = 0;
	while (text[n])
		n++;
	return n;
}
