/* One verb for each way to disturb the answering of system calls. */
#ifndef STRESS_H
#define STRESS_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void verb(char **arguments);

verb rewritten_path, swapped_descriptor, swapped_names;
verb killed, signals, storm, shared_signal;
verb threads, processes, vforks, crowd, passers;
verb traced, stepped, suspended;
verb open_files, file_size, identity, hidden, stranger, own_file, start, hangup;
verb memory, self, places;
verb intrude, write_to, send_to_own, make_there, namespaces;
verb abstract, reach;
verb unserved, few_files, no_processes, attached, seized, starved;

/* Ends the program with a message if something fails that must work. */
void must(int condition, const char *what);
/* "ok", or the name of errno. */
const char *said(long result);
int number(const char *text);
/* Runs a verb with its arguments. Returns whether there is such a verb. */
int perform(char **arguments);

#endif
