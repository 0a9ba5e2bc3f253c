/* One program, one verb per attack.
 *
 *   attack VERB ARG... [, VERB ARG...]...
 *
 * runs the steps in order and prints one line: `ok`, `ok` and what was read, or the name of the
 * errno of the first step that failed. The caller decides whether a failure is the right outcome.
 * An argument may spell a byte as %XX. Some verbs change the process and then run the rest of the
 * line as a verb: `chdir DIR open NAME`.
 */
#ifndef ATTACK_H
#define ATTACK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _LARGEFILE64_SOURCE
#include <errno.h>
#include <stddef.h>

/* The answers of a verb. A verb that fails leaves errno set. */
enum { DONE = 0, FAILED = -1, REPORTED = 1 /* another process printed the line */ };

typedef int verb_fn(char **args);
struct verb { const char *name; int args; verb_fn *run; };

/* Each topic ends its table with a NULL name. */
extern const struct verb open_verbs[], entry_verbs[], metadata_verbs[], process_verbs[], library_verbs[],
    state_verbs[], answer_verbs[], fault_verbs[], batch_verbs[], effect_verbs[], inside_verbs[], stream_verbs[],
    staying_verbs[], instruction_verbs[], network_verbs[], opened_verbs[], mode_verbs[], machine_verbs[],
    left_behind_verbs[];

extern char *self;                      /* absolute path of this program */

int run(char **line);                   /* run one step: a verb and its arguments */
int report(int answer);                 /* print the line, and return the exit status */
int show(int fd);                       /* remember the first bytes behind fd for `ok`, close it */
void found(const char *text);           /* remember a text for `ok` */
const char *errno_name(int error);

/* Print one line of several: the call, its object, and the answer. */
void line(const char *about, const char *call, long answer);

#endif
