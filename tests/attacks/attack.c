/* Runs the steps of the command line, and prints one line. See attack.h. */
#include "absent.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *self;
static char remembered[256];

static const struct { int error; const char *name; } names[] = {
    {EPERM, "EPERM"},     {ENOENT, "ENOENT"},   {EBADF, "EBADF"},         {EACCES, "EACCES"},
    {EFAULT, "EFAULT"},   {EEXIST, "EEXIST"},   {EXDEV, "EXDEV"},         {ENOTDIR, "ENOTDIR"},
    {EISDIR, "EISDIR"},   {EINVAL, "EINVAL"},   {EMFILE, "EMFILE"},       {ENFILE, "ENFILE"},
    {ELOOP, "ELOOP"},     {EROFS, "EROFS"},     {ENOTEMPTY, "ENOTEMPTY"}, {ENAMETOOLONG, "ENAMETOOLONG"},
    {ENOSYS, "ENOSYS"},   {ENODATA, "ENODATA"}, {EOPNOTSUPP, "EOPNOTSUPP"}, {ERANGE, "ERANGE"},
    {ENOEXEC, "ENOEXEC"}, {ECONNREFUSED, "ECONNREFUSED"}, {EBUSY, "EBUSY"}, {ENXIO, "ENXIO"},
    {EINTR, "EINTR"},
};

const char *errno_name(int error)
{
    static char number[16];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].error == error)
            return names[i].name;
    snprintf(number, sizeof number, "errno %d", error);
    return number;
}

void line(const char *about, const char *call, long answer)
{
    printf("%s %s: %s\n", about, call, answer < 0 ? errno_name(errno) : "ok");
    fflush(stdout);
}

void found(const char *text)
{
    snprintf(remembered, sizeof remembered, " %s", text);
    remembered[strcspn(remembered, "\n")] = 0;
}

int show(int fd)
{
    char text[200];
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length < 0)
        return FAILED;
    text[length] = 0;
    found(text);
    return DONE;
}

int report(int answer)
{
    if (answer == DONE)
        printf("ok%s\n", remembered);
    else if (answer == FAILED)
        printf("%s\n", errno_name(errno));
    fflush(stdout);
    return answer == FAILED;
}

static const struct verb *lookup(const char *name)
{
    const struct verb *tables[] = {open_verbs,    entry_verbs, metadata_verbs, process_verbs,
                                   library_verbs, state_verbs, answer_verbs, fault_verbs,
                                   batch_verbs, effect_verbs, inside_verbs, staying_verbs, stream_verbs,
                                   instruction_verbs, network_verbs, opened_verbs, mode_verbs, machine_verbs,
                                   left_behind_verbs};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct verb *verb = tables[t]; verb->name; verb++)
            if (strcmp(verb->name, name) == 0)
                return verb;
    return NULL;
}

int absent(char **args)
{
    (void)args;
    errno = ENOSYS;
    return FAILED;
}

static void usage(const char *why)
{
    fprintf(stderr, "attack: bad step: %s\n", why);
    _exit(2);
}

int run(char **line)
{
    if (!line[0])
        usage("nothing to run");
    const struct verb *verb = lookup(line[0]);
    if (!verb)
        usage(line[0]);
    for (int i = 1; i <= verb->args; i++)
        if (!line[i])
            usage(line[0]);
    return verb->run(line + 1);
}

static void decode(char *text)
{
    char *out = text;
    for (char *in = text; *in; in++) {
        char digits[3] = {0};
        if (in[0] == '%' && in[1] && in[2]) {
            memcpy(digits, in + 1, 2);
            *out++ = (char)strtol(digits, NULL, 16);
            in += 2;
        } else {
            *out++ = *in;
        }
    }
    *out = 0;
}

int main(int argc, char **argv)
{
    self = argv[0];
    int answer = DONE;
    for (int i = 1; i < argc && answer == DONE;) {
        char **line = argv + i;
        while (i < argc && strcmp(argv[i], ",") != 0)
            decode(argv[i++]);
        if (i < argc)
            argv[i++] = NULL;
        answer = run(line);
    }
    return report(answer);
}
