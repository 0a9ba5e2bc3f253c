/* Calls against names that change under them.
 *
 *   race WORKSPACE OUTSIDE ATTEMPTS THREADS PROCESSES [NAME]...
 *
 * makes a stage in WORKSPACE and canaries in OUTSIDE. Everything is granted in WORKSPACE, and nothing in OUTSIDE.
 * Swappers exchange entries of the stage for symlinks to the canaries. Meanwhile, the program makes ATTEMPTS
 * calls, of all kinds in all scenes or of those named. An escape is a call that reads or changes a canary.
 * The swappers, THREADS in this process and PROCESSES beside it, make system calls by instruction, so that
 * nothing confines them.
 *
 * It prints a line for each scene and each call. The status is 1 if a call escaped.
 */
#ifndef RACE_H
#define RACE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Ways of swapping. */
enum swap {
    EXCHANGE,       /* two entries change places */
    MOVE,           /* an entry goes to another place and comes back */
    WORKING_DIR,    /* libc's chdir, in another thread */
    DESCRIPTOR,     /* libc's dup2 onto the descriptor a path is relative to */
    PIN,            /* libc's dup2 onto the next free descriptor */
};

/* One thing that changes while calls are made. */
struct scene {
    const char *name;
    enum swap swap;
    const char *first, *second;     /* what is swapped: @ is the stage, ^ the outside */
    const char *link;               /* the target of the symlink `second`; NULL where it is none */
    const char *path;               /* how calls name the directory of their object */
    const char *inside, *outside;   /* the two directories that it may turn out to be */
    bool last;                      /* the last name itself is swapped */
    bool outside_changes;           /* the swapping changes the directory outside */
};
extern const struct scene scenes[];

/* A directory that a path may lead to. It has `x`, `sub/`, `run`, and a name that tells which directory it is. */
struct place {
    char path[PATH_MAX];
    int dir, file;                  /* held */
    struct stat dir_is, file_is;    /* as last seen */
};

/* The objects that calls are made on. */
struct target {
    const struct scene *scene;
    int dirfd;
    char dir[PATH_MAX], file[PATH_MAX], new[PATH_MAX], sub[PATH_MAX], run[PATH_MAX];
    char own[PATH_MAX], got[PATH_MAX];      /* beside the stage, never swapped */
    struct place inside, outside;
};

/* Kinds of calls: the object of a call, and its answer. */
enum {
    OBJECT = 1,     /* the file, symlinks followed */
    ENTRY = 2,      /* an entry of the directory: no symlink at the end is followed */
    DIRECTORY = 4,  /* the directory itself */
    OPENS = 8,      /* the answer is a descriptor */
    RELATIVE = 16,  /* the path may be relative to a descriptor */
    SLOW = 32,      /* starts a program: a hundredth of the attempts */
    BY_NAME = 64,   /* known to use the name that was judged, not the object */
    MOVES_HERE = 128, /* changes the working directory of the process */
};

/* A call answers negative for a denial, with errno set, or LEAKED. */
enum { LEAKED = INT_MAX };
struct call { const char *name; int kind; int (*run)(const struct target *); };
extern const struct call object_calls[], entry_calls[], directory_calls[];

const char *expand(const char *pattern, char *to);
bool seems_outside(const char *name);           /* a name found in a directory */

void build_place(const char *path, const char *tag, struct place *);
void rebuild_place(struct place *, const char *tag);
void tidy(const struct target *);               /* after a call that was allowed */
bool canary_changed(struct target *);
bool is_canary(const struct target *, int fd);

void set_scene(const struct scene *, struct target *);
void start_swappers(int threads, int processes);
void swap_in(const struct target *);            /* begins to swap what the scene says */
void swap_none(void);                           /* returns when nobody swaps any more */
long swaps(void);

extern char stage[PATH_MAX], outside[PATH_MAX];
extern const char *self;

#endif
