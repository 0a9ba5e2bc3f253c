/* The swappers: threads, or a process of its own. Both follow one shared page. */
#include "race.h"
#include "raw.h"
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

/* The page that all swappers see. */
struct page {
    atomic_int swap;        /* an enum swap, or NOTHING */
    atomic_int busy;        /* how many are in the middle of a swap */
    atomic_long swaps;
    char first[PATH_MAX], second[PATH_MAX];
    int in, out, slot;      /* descriptors */
};
enum { NOTHING = -1 };

static struct page *page;

/* xorshift: how long a swapper waits. */
static void wait_a_little(unsigned *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    for (unsigned turns = *state & 1023; turns; turns--)
        __asm__ volatile("");
}

static void exchange(void)
{
    RAW(renameat2, AT_FDCWD, page->first, AT_FDCWD, page->second, RENAME_EXCHANGE);
}

static void move(unsigned *state)
{
    RAW(renameat2, AT_FDCWD, page->second, AT_FDCWD, page->first, 0);
    wait_a_little(state);
    RAW(renameat2, AT_FDCWD, page->first, AT_FDCWD, page->second, 0);
}

static void change_directory(unsigned *state)
{
    if (chdir(page->second))
        sched_yield();
    wait_a_little(state);
    if (chdir(page->first))
        sched_yield();
}

static void replace_descriptor(unsigned *state)
{
    dup2(page->out, page->slot);
    wait_a_little(state);
    dup2(page->in, page->slot);
}

/* The number is free whenever no call is in progress. */
static void replace_pin(unsigned *state)
{
    dup2(page->out, page->slot);
    wait_a_little(state);
    close(page->slot);
}

static void swap_once(int swap, unsigned *state, bool own_memory)
{
    switch (swap) {
    case EXCHANGE:
        return exchange();
    case MOVE:
        return move(state);
    default:
        break;
    }
    /* The other kinds change this process. A process beside it cannot do that. */
    if (own_memory)
        return;
    if (swap == WORKING_DIR)
        change_directory(state);
    else if (swap == DESCRIPTOR)
        replace_descriptor(state);
    else if (swap == PIN)
        replace_pin(state);
}

static void swap_forever(bool own_memory, unsigned state)
{
    for (;;) {
        atomic_fetch_add(&page->busy, 1);
        int swap = atomic_load(&page->swap);
        if (swap != NOTHING)
            swap_once(swap, &state, own_memory);
        atomic_fetch_sub(&page->busy, 1);
        if (swap == NOTHING)
            RAW(sched_yield, 0, 0, 0, 0, 0);
        else
            atomic_fetch_add_explicit(&page->swaps, 1, memory_order_relaxed);
        wait_a_little(&state);
    }
}

static void *thread(void *seed)
{
    swap_forever(false, (unsigned)(long)seed);
    return NULL;
}

/* Puts calls on one processor and swappers on the others, where there is more than one. */
static void divide_processors(cpu_set_t *rest)
{
    cpu_set_t first;
    sched_getaffinity(0, sizeof *rest, rest);
    if (CPU_COUNT(rest) < 2)
        return;
    int one = 0;
    while (!CPU_ISSET(one, rest))
        one++;
    CPU_ZERO(&first);
    CPU_SET(one, &first);
    CPU_CLR(one, rest);
    sched_setaffinity(0, sizeof first, &first);
}

void start_swappers(int threads, int processes)
{
    cpu_set_t rest;
    pthread_attr_t attributes;
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    page->swap = NOTHING;
    divide_processors(&rest);
    for (int i = 0; i < processes; i++)
        if (RAW(clone, SIGCHLD, 0, 0, 0, 0) == 0) {
            RAW(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
            RAW(sched_setaffinity, 0, sizeof rest, &rest, 0, 0);
            swap_forever(true, 0x9e3779b9u + (unsigned)i);
        }
    pthread_attr_init(&attributes);
    pthread_attr_setaffinity_np(&attributes, sizeof rest, &rest);
    for (int i = 0; i < threads; i++) {
        pthread_t id;
        if ((errno = pthread_create(&id, &attributes, thread, (void *)(0x2545f491L + i)))) {
            perror("race: pthread_create");
            exit(2);
        }
    }
}

void swap_in(const struct target *target)
{
    const struct scene *scene = target->scene;
    expand(scene->first, page->first);
    expand(scene->second, page->second);
    page->in = target->inside.dir;
    page->out = target->outside.dir;
    page->slot = target->dirfd;
    if (scene->swap == PIN) {
        page->slot = dup(page->in);
        close(page->slot);
    }
    atomic_store(&page->swap, scene->swap);
}

void swap_none(void)
{
    atomic_store(&page->swap, NOTHING);
    while (atomic_load(&page->busy))
        sched_yield();
}

long swaps(void)
{
    return atomic_load(&page->swaps);
}
