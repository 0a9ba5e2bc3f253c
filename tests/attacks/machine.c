/* Ways to parts of the machine: the kernel's log and its events, consoles. */
#include "attack.h"
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* By libc's function, and by its syscall(). */
static int v_klog(char **a) { char text[64]; return klogctl(atoi(a[0]), text, sizeof text) < 0 ? FAILED : DONE; }
static int v_syslog(char **a)
{
    char text[64];
    return syscall(SYS_syslog, atoi(a[0]), text, sizeof text) < 0 ? FAILED : DONE;
}

/* Listens to the events of the kernel. */
static int v_events(char **a)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, atoi(a[0]));
    return fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ? FAILED : DONE;
}

/* Gives a command to the file at a path. */
static int v_ioctl(char **a)
{
    char argument[256] = "";
    int fd = open(a[0], O_RDWR | O_NOCTTY);
    return fd < 0 ? FAILED : ioctl(fd, strtoul(a[1], NULL, 16), argument) < 0 ? FAILED : DONE;
}

const struct verb machine_verbs[] = {
    {"klog", 1, v_klog},
    {"syslog", 1, v_syslog},
    {"events", 1, v_events},
    {"ioctl", 2, v_ioctl},
    {0},
};
