/* Tight loops over one call. Prints the nanoseconds that one round of the loop took.
 *
 *   loops KIND COUNT PATH
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void must(int good, const char *what)
{
    if (!good) {
        perror(what);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    const char *kind = argv[1], *path = argv[3];
    long count = atol(argv[2]);
    struct stat status;
    char name[4096], other[4096];
    double spent = 0;

    if (strcmp(kind, "unlink") == 0) {
        for (long done = 0; done < count; done += 100) {
            for (int i = 0; i < 100; i++) {
                snprintf(name, sizeof name, "%s/unlinked%d", path, i);
                int fd = open(name, O_CREAT | O_WRONLY, 0644);
                must(fd >= 0 && close(fd) == 0, "create");
            }
            double start = now();
            for (int i = 0; i < 100; i++) {
                snprintf(name, sizeof name, "%s/unlinked%d", path, i);
                must(unlink(name) == 0, "unlink");
            }
            spent += now() - start;
        }
    } else if (strcmp(kind, "rename") == 0) {
        snprintf(name, sizeof name, "%s/renamed", path);
        snprintf(other, sizeof other, "%s/renamed2", path);
        must(close(open(name, O_CREAT | O_WRONLY, 0644)) == 0, "create");
        double start = now();
        for (long i = 0; i < count; i += 2)
            must(rename(name, other) == 0 && rename(other, name) == 0, "rename");
        spent = now() - start;
    } else if (strcmp(kind, "stat") == 0) {
        double start = now();
        for (long i = 0; i < count; i++)
            must(stat(path, &status) == 0, "stat");
        spent = now() - start;
    } else if (strcmp(kind, "open") == 0) {
        double start = now();
        for (long i = 0; i < count; i++) {
            int fd = open(path, O_RDONLY);
            must(fd >= 0 && close(fd) == 0, "open");
        }
        spent = now() - start;
    } else {
        return 2;
    }
    printf("%.1f\n", spent / (double)count);
    return 0;
}
