/* Calls that are answered while their callers get no processor. */
#include "stress.h"
#include <sched.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>

enum { CALLERS = 8, SPINNERS = 16, ROUNDS = 200, CLOSE = 15000 };

static int terminal;
/* When the spinners begin, in nanoseconds. */
static _Atomic long long spinning_from;
static _Atomic int is_over, began[CALLERS], ended[CALLERS];

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void sleep_till(long long when) {
    struct timespec time = {when / 1000000000, when % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, 0) == EINTR) continue;
}

/* Moves the thread to the last processor. A thread that waits for others to leave it has the least weight. */
static void settle(int policy) {
    cpu_set_t all, last;
    must(sched_getaffinity(0, sizeof all, &all) == 0, "processors");
    int at = CPU_SETSIZE - 1;
    while (!CPU_ISSET(at, &all)) at--;
    CPU_ZERO(&last);
    CPU_SET(at, &last);
    must(sched_setaffinity(0, sizeof last, &last) == 0, "a processor");
    struct sched_param none = {0};
    must(sched_setscheduler(0, policy, &none) == 0, "a policy of the scheduler");
}

static void *spins(void *unused) {
    (void)unused;
    settle(SCHED_OTHER);
    sleep_till(spinning_from);
    while (!is_over) continue;
    return 0;
}

/* Calls just before the spinners begin, one caller a little before the other. */
static void *discards(void *number) {
    long at = (long)number;
    settle(SCHED_IDLE);
    sleep_till(spinning_from - 600000);
    while (now() < spinning_from - CLOSE * (at + 1)) continue;
    began[at] = 1;
    ioctl(terminal, TCFLSH, TCIFLUSH);
    ended[at] = 1;
    return 0;
}

static void *lets_go(void *seconds) {
    sleep((unsigned)number(seconds));
    is_over = 1;
    return 0;
}

/* Whether a thread was caught in a call. */
static int catches(pthread_t *threads) {
    int caught = 0;
    is_over = 0;
    spinning_from = now() + 5000000;
    for (long i = 0; i < CALLERS + SPINNERS; i++) {
        if (i < CALLERS) began[i] = ended[i] = 0;
        void *(*act)(void *) = i < CALLERS ? discards : spins;
        must(pthread_create(&threads[i], 0, act, (void *)i) == 0, "a thread");
    }
    sleep_till(spinning_from + 50000000);
    for (int i = 0; i < CALLERS; i++) caught |= began[i] && !ended[i];
    return caught;
}

/* FILE SECONDS: callers discard what was typed, and go on for so long after the file is asked for. */
void starved(char **arguments) {
    pthread_t threads[CALLERS + SPINNERS], other;
    signal(SIGTTOU, SIG_IGN);
    terminal = open("/dev/tty", O_RDWR);
    must(terminal >= 0, "a terminal");
    int round = 0;
    while (!catches(threads) && ++round < ROUNDS) {
        is_over = 1;
        for (int i = 0; i < CALLERS + SPINNERS; i++) pthread_join(threads[i], 0);
    }
    must(pthread_create(&other, 0, lets_go, arguments[1]) == 0, "a thread");
    printf("%s: %s\n", round < ROUNDS ? "caught" : "nobody", said(open(arguments[0], O_RDONLY)));
}
