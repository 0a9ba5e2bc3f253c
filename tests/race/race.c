/* Makes the calls, judges each outcome, and counts. */
#include "race.h"
#include "raw.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *self;

/* The outcomes of attempts. */
struct count { long attempts, allowed, refused, other, escapes; };

enum { CALLS = 100 };
static const struct call *calls[CALLS];
static struct count by_call[CALLS];
static int call_count;

static char **wanted;

static bool is_wanted(const char *name)
{
    for (char **next = wanted; *next; next++)
        if (strcmp(name, *next) == 0)
            return true;
    return false;
}

/* Chooses the named calls, or all calls if none is named. */
static void choose_calls(void)
{
    const struct call *tables[] = {object_calls, directory_calls, entry_calls};
    for (int all = 0; call_count == 0; all = 1)
        for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
            for (const struct call *call = tables[t]; call->name; call++)
                if ((all || is_wanted(call->name)) && call_count < CALLS)
                    calls[call_count++] = call;
}

static bool is_chosen(const struct scene *chosen)
{
    bool some = false;
    for (const struct scene *scene = scenes; scene->name; scene++)
        some |= is_wanted(scene->name);
    return !some || is_wanted(chosen->name);
}

/* Whether the swap of the scene matters to the call. */
static bool fits(const struct call *call, const struct scene *scene)
{
    if (!is_chosen(scene))
        return false;
    if (scene->last && !(call->kind & OBJECT))
        return false;
    if (scene->swap == DESCRIPTOR && !(call->kind & RELATIVE))
        return false;
    return !(call->kind & MOVES_HERE) || *scene->path != '.';
}

/* One attempt. */
static void attempt(const struct call *call, struct target *target, struct count *count)
{
    int answer = call->run(target), error = errno;
    bool opened = answer >= 0 && answer != LEAKED && call->kind & OPENS;
    bool escaped = answer == LEAKED || (opened && is_canary(target, answer));
    escaped |= canary_changed(target);
    if (opened)
        close(answer);
    if (answer >= 0)
        tidy(target);
    count->attempts++;
    count->escapes += escaped;
    count->allowed += answer >= 0 && !escaped;
    count->refused += answer < 0 && error == EACCES && !escaped;
    count->other += answer < 0 && error != EACCES && !escaped;
}

static void add(struct count *to, const struct count *from)
{
    to->attempts += from->attempts;
    to->allowed += from->allowed;
    to->refused += from->refused;
    to->other += from->other;
    to->escapes += from->escapes;
}

static void print(const char *name, const struct count *count, const char *remark)
{
    printf("%-26s %9ld %9ld %9ld %9ld %7ld%s\n", name, count->attempts, count->allowed, count->refused,
           count->other, count->escapes, remark);
    fflush(stdout);
}

static void heading(const char *what)
{
    printf("\n%-26s %9s %9s %9s %9s %7s\n", what, "attempts", "allowed", "refused", "other", "escapes");
}

/* The number of (scene, call) pairs that share the attempts. A slow call counts as a hundredth. */
static double shares(void)
{
    double sum = 0;
    for (const struct scene *scene = scenes; scene->name; scene++)
        for (int i = 0; i < call_count; i++)
            if (fits(calls[i], scene))
                sum += calls[i]->kind & SLOW ? 0.01 : 1;
    return sum;
}

static void play(const struct scene *scene, double each)
{
    static struct target target;
    struct count in_scene = {0};
    long before = swaps();
    char remark[64];
    set_scene(scene, &target);
    for (int i = 0; i < call_count; i++) {
        struct count count = {0};
        if (!fits(calls[i], scene))
            continue;
        double wanted = calls[i]->kind & SLOW ? each / 100 : each;
        swap_in(&target);
        while (count.attempts < wanted)
            attempt(calls[i], &target, &count);
        swap_none();
        tidy(&target);
        if (count.escapes)
            printf("escaped: %s, %s: %ld\n", scene->name, calls[i]->name, count.escapes);
        add(&by_call[i], &count);
        if (!(calls[i]->kind & BY_NAME))
            add(&in_scene, &count);
    }
    snprintf(remark, sizeof remark, "  %ld swaps", swaps() - before);
    print(scene->name, &in_scene, remark);
}

/* Whether this program was started from below `outside`. */
static int where(const char *path)
{
    char here[PATH_MAX] = "";
    RAW(readlinkat, AT_FDCWD, "/proc/self/exe", here, sizeof here - 1, 0);
    return strncmp(here, path, strlen(path)) == 0;
}

int main(int argc, char **argv)
{
    struct count total = {0}, known = {0};
    if (argc == 3 && strcmp(argv[1], "where") == 0)
        return where(argv[2]);
    if (argc < 6) {
        fprintf(stderr, "usage: race WORKSPACE OUTSIDE ATTEMPTS THREADS PROCESSES [NAME]...\n");
        return 2;
    }
    self = argv[0];
    snprintf(stage, sizeof stage, "%s", argv[1]);
    snprintf(outside, sizeof outside, "%s", argv[2]);
    wanted = argv + 6;
    choose_calls();
    start_swappers(atoi(argv[4]), atoi(argv[5]));
    double each = atof(argv[3]) / shares();
    heading("scene");
    for (const struct scene *scene = scenes; scene->name; scene++)
        if (is_chosen(scene))
            play(scene, each);
    heading("call");
    for (int i = 0; i < call_count; i++) {
        bool by_name = calls[i]->kind & BY_NAME;
        print(calls[i]->name, &by_call[i], by_name ? "  by name" : "");
        add(by_name ? &known : &total, &by_call[i]);
    }
    heading("");
    print("by name, as documented", &known, "");
    print("total", &total, "");
    return total.escapes > 0;
}
