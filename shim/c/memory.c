/* The functions that the compiler calls for copies and comparisons, so that the library needs no libc for them.
 * They are hidden, and the program keeps its own. Paths are short, so simple loops over words suffice. */

#include <stddef.h>
#include <stdint.h>

/* Starting a process needs these functions, so they lie with that code: a process pays for each page it reads. */
#define EARLY __attribute__((section(".text.unlikely")))

typedef uint64_t word __attribute__((may_alias, aligned(1)));
typedef uint32_t half __attribute__((may_alias, aligned(1)));

EARLY void *memcpy(void *restrict to, const void *restrict from, size_t n) {
	unsigned char *out = to;
	const unsigned char *in = from;
	for (; n >= sizeof(word); n -= sizeof(word), out += sizeof(word), in += sizeof(word))
		*(word *)out = *(const word *)in;
	for (; n; n--)
		*out++ = *in++;
	return to;
}

EARLY void *memmove(void *to, const void *from, size_t n) {
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

EARLY void *memset(void *to, int byte, size_t n) {
	unsigned char *out = to;
	for (size_t i = 0; i < n; i++)
		out[i] = (unsigned char)byte;
	return to;
}

EARLY int memcmp(const void *a, const void *b, size_t n) {
	const unsigned char *left = a, *right = b;
	for (size_t i = 0; i < n; i++)
		if (left[i] != right[i])
			return left[i] - right[i];
	return 0;
}

static int same_words(const unsigned char *a, const unsigned char *b) {
	return *(const word *)a == *(const word *)b;
}

static int same_halves(const unsigned char *a, const unsigned char *b) {
	return *(const half *)a == *(const half *)b;
}

/* Names are short: the last word may overlap the one before. */
EARLY int bcmp(const void *a, const void *b, size_t n) {
	const unsigned char *left = a, *right = b;
	if (n >= sizeof(word)) {
		for (size_t i = 0; i < n - sizeof(word); i += sizeof(word))
			if (!same_words(left + i, right + i))
				return 1;
		return !same_words(left + n - sizeof(word), right + n - sizeof(word));
	}
	if (n >= sizeof(half))
		return !same_halves(left, right)
			|| !same_halves(left + n - sizeof(half), right + n - sizeof(half));
	while (n--)
		if (left[n] != right[n])
			return 1;
	return 0;
}

/* An aligned word lies in one page, whatever follows the end of the string. */
EARLY size_t strlen(const char *text) {
	const word ones = 0x0101010101010101;
	const char *end = text;
	for (; (uintptr_t)end % sizeof(word); end++)
		if (!*end)
			return (size_t)(end - text);
	for (word at; at = *(const word *)end, !((at - ones) & ~at & ones << 7);)
		end += sizeof(word);
	while (*end)
		end++;
	return (size_t)(end - text);
}
