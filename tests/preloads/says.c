/* Prints a text of its own when it is loaded. */
#include <unistd.h>

__attribute__((constructor)) static void say(void)
{
    if (write(1, SAYS, sizeof SAYS - 1) < 0)
        _exit(1);
}
