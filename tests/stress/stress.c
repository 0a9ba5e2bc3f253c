/* stress VERB ARGUMENTS...: prints one line with the outcome. */
#include "stress.h"

void must(int condition, const char *what) {
    if (condition) return;
    printf("failed: %s: %s\n", what, strerror(errno));
    fflush(stdout);
    _exit(99);
}

const char *said(long result) {
    return result >= 0 ? "ok" : strerrorname_np(errno) ? strerrorname_np(errno) : "no errno";
}

int number(const char *text) { return atoi(text); }

static const struct {
    const char *name;
    verb *run;
} verbs[] = {
    {"starved", starved},
    {"rewritten-path", rewritten_path},
    {"swapped-descriptor", swapped_descriptor},
    {"swapped-names", swapped_names},
    {"killed", killed},
    {"signals", signals},
    {"storm", storm},
    {"shared-signal", shared_signal},
    {"threads", threads},
    {"processes", processes},
    {"vforks", vforks},
    {"crowd", crowd},
    {"passers", passers},
    {"traced", traced},
    {"stepped", stepped},
    {"suspended", suspended},
    {"open-files", open_files},
    {"file-size", file_size},
    {"hangup", hangup},
    {"identity", identity},
    {"hidden", hidden},
    {"stranger", stranger},
    {"own-file", own_file},
    {"start", start},
    {"memory", memory},
    {"self", self},
    {"places", places},
    {"intrude", intrude},
    {"write-to", write_to},
    {"send-to-own", send_to_own},
    {"make-there", make_there},
    {"namespaces", namespaces},
    {"abstract", abstract},
    {"reach", reach},
    {"unserved", unserved},
    {"few-files", few_files},
    {"no-processes", no_processes},
    {"attached", attached},
    {"seized", seized},
};

int perform(char **arguments) {
    for (size_t i = 0; *arguments && i < sizeof verbs / sizeof *verbs; i++) {
        if (strcmp(*arguments, verbs[i].name) == 0) {
            verbs[i].run(arguments + 1);
            fflush(stdout);
            return 1;
        }
    }
    return 0;
}

int main(int count, char **arguments) {
    if (count > 1 && perform(arguments + 1)) return 0;
    fprintf(stderr, "no such verb\n");
    return 2;
}
