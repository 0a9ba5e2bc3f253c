/* Opens paths under confinement, and prints where each led. Used by src/asker.rs. A line of input is `FLAGS PATH`.
 * A line of output is a path or an error number. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    char line[8192], link[64], place[4096], *path;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        int flags = (int)strtol(line, &path, 10);
        int fd = open(path + 1, flags, 0600);
        if (fd < 0) {
            printf("%d\n", errno);
        } else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
            ssize_t length = readlink(link, place, sizeof place);
            printf("%.*s\n", (int)length, place);
            close(fd);
        }
        fflush(stdout);
    }
    return 0;
}
