/* scandir(3) of a stream that is already open. libc's own function opens the directory again, and Landlock denies
 * that if the run has created the directory since. The caller frees the result, so it comes from the program's
 * allocator. */

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#define WEAK extern __attribute__((weak))

WEAK void *realloc(void *memory, size_t size);
WEAK void free(void *memory);
WEAK void qsort(void *list, size_t count, size_t size, int (*compare)(const void *, const void *));

void *jp_readdir(void *stream);
int *jp_errno(void);

struct list {
	struct dirent **entries;
	size_t count, room;
};

static int append(struct list *list, const struct dirent *entry) {
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 16;
		void *entries = realloc(list->entries, room * sizeof *list->entries);
		if (!entries)
			return 0;
		list->entries = entries;
		list->room = room;
	}
	struct dirent *copy = realloc(NULL, entry->d_reclen);
	if (!copy)
		return 0;
	memcpy(copy, entry, entry->d_reclen);
	list->entries[list->count++] = copy;
	return 1;
}

/* Reads the whole stream. Returns whether that succeeded. */
static int gather(void *stream, struct list *list, int (*select)(const struct dirent *)) {
	for (;;) {
		*jp_errno() = 0;
		const struct dirent *entry = jp_readdir(stream);
		if (!entry)
			return *jp_errno() == 0;
		if ((!select || select(entry)) && !append(list, entry))
			return 0;
	}
}

/* Returns the number of entries in `entries`, or -1 with errno set. */
int jp_scan(void *stream, struct dirent ***entries, int (*select)(const struct dirent *),
	    int (*compare)(const void *, const void *)) {
	struct list list = {NULL, 0, 0};
	int before = *jp_errno();
	if (!realloc || !free || !qsort) {
		*jp_errno() = ENOMEM;
		return -1;
	}
	if (!gather(stream, &list, select)) {
		int why = *jp_errno();
		while (list.count)
			free(list.entries[--list.count]);
		free(list.entries);
		*jp_errno() = why;
		return -1;
	}
	if (compare && list.count)
		qsort(list.entries, list.count, sizeof *list.entries, compare);
	*jp_errno() = before;
	*entries = list.entries;
	return (int)list.count;
}
