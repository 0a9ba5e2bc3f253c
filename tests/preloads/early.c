/* Reads a file before main and after it. With PREINIT, reads it before any constructor. */
#include <fcntl.h>
#include <unistd.h>

static void show(void)
{
    char text[99];
    int fd = open(READS, O_RDONLY);
    long length = fd < 0 ? 0 : read(fd, text, sizeof text);
    if (length > 0 && write(1, text, (unsigned long)length) < 0)
        _exit(1);
    close(fd);
}

#ifdef PREINIT
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = show;
int main(void) { return 0; }
#else
__attribute__((constructor)) static void begin(void) { show(); }
__attribute__((destructor)) static void end(void) { show(); }
#endif
