/* Connects to hosts by system calls: `net HOW ADDRESS PORT`. */
#include "attack.h"
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

struct target {
    struct sockaddr_storage address;
    socklen_t length;
};

static int read_target(char **args, struct target *to)
{
    struct sockaddr_in *four = (struct sockaddr_in *)&to->address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&to->address;
    in_port_t port = htons((in_port_t)atoi(args[1]));
    memset(to, 0, sizeof *to);
    if (inet_pton(AF_INET, args[0], &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = port;
        to->length = sizeof *four;
        return DONE;
    }
    if (inet_pton(AF_INET6, args[0], &six->sin6_addr) != 1) {
        errno = EINVAL;
        return FAILED;
    }
    six->sin6_family = AF_INET6;
    six->sin6_port = port;
    to->length = sizeof *six;
    return DONE;
}

static int make(const struct target *to, int type)
{
    return (int)syscall(SYS_socket, (long)to->address.ss_family, (long)type, 0L);
}

static int connected(const struct target *to, int type)
{
    int fd = make(to, type);
    if (fd < 0 || syscall(SYS_connect, (long)fd, (long)&to->address, (long)to->length) < 0)
        return FAILED;
    return fd;
}

/* Connects, and shows what the server says at once. */
static int tcp(const struct target *to)
{
    int fd = connected(to, SOCK_STREAM);
    return fd < 0 ? FAILED : show(fd);
}

static int udp_connected(const struct target *to)
{
    int fd = connected(to, SOCK_DGRAM);
    return fd < 0 || send(fd, "x", 1, 0) < 0 ? FAILED : DONE;
}

static int send_to(const struct target *to, int type, int flags)
{
    int fd = make(to, type);
    return fd < 0 || syscall(SYS_sendto, (long)fd, "x", 1L, (long)flags, (long)&to->address,
                             (long)to->length) < 0 ? FAILED : DONE;
}

static struct msghdr message(const struct target *to, struct iovec *piece)
{
    struct msghdr header;
    memset(&header, 0, sizeof header);
    piece->iov_base = "x";
    piece->iov_len = 1;
    header.msg_name = (void *)&to->address;
    header.msg_namelen = to->length;
    header.msg_iov = piece;
    header.msg_iovlen = 1;
    return header;
}

static int udp_sendmsg(const struct target *to)
{
    struct iovec piece;
    struct msghdr header = message(to, &piece);
    int fd = make(to, SOCK_DGRAM);
    return fd < 0 || syscall(SYS_sendmsg, (long)fd, &header, 0L) < 0 ? FAILED : DONE;
}

static int udp_sendmmsg(const struct target *to)
{
    struct iovec piece;
    struct mmsghdr messages[2];
    int fd = make(to, SOCK_DGRAM);
    memset(messages, 0, sizeof messages);
    messages[0].msg_hdr = messages[1].msg_hdr = message(to, &piece);
    return fd < 0 || syscall(SYS_sendmmsg, (long)fd, messages, 2L, 0L) != 2 ? FAILED : DONE;
}

/* A route for packets by way of the address, whatever their destination. */
static int route(const struct target *to)
{
    unsigned char option[12] = {0x83, 11, 4};
    int fd = make(to, SOCK_DGRAM);
    memcpy(option + 3, &((const struct sockaddr_in *)&to->address)->sin_addr, 4);
    memcpy(option + 7, &((const struct sockaddr_in *)&to->address)->sin_addr, 4);
    return fd < 0 || syscall(SYS_setsockopt, (long)fd, (long)IPPROTO_IP, (long)IP_OPTIONS, option, 12L)
        < 0 ? FAILED : DONE;
}

/* Whether a socket listens where other machines can connect to it. */
static int listens_to_others(int fd)
{
    struct sockaddr_in own;
    socklen_t length = sizeof own;
    if (syscall(SYS_listen, (long)fd, 1L) < 0 || getsockname(fd, (struct sockaddr *)&own, &length) < 0)
        return FAILED;
    errno = EACCES;
    return own.sin_addr.s_addr == htonl(INADDR_LOOPBACK) ? FAILED : DONE;
}

static int listens(const struct target *to)
{
    int fd = make(to, SOCK_STREAM);
    if (fd < 0 || syscall(SYS_bind, (long)fd, (long)&to->address, (long)to->length) < 0)
        return FAILED;
    return listens_to_others(fd);
}

static int listens_unbound(const struct target *to)
{
    int fd = make(to, SOCK_STREAM);
    return fd < 0 ? FAILED : listens_to_others(fd);
}

static int receives(const struct target *to)
{
    int fd = make(to, SOCK_DGRAM);
    return fd < 0 || syscall(SYS_bind, (long)fd, (long)&to->address, (long)to->length) < 0 ? FAILED : DONE;
}

/* Listens in a network of its own, which has another loopback. */
static int listens_apart(const struct target *to)
{
    struct ifreq loopback;
    int fd;
    if (syscall(SYS_unshare, (long)(CLONE_NEWUSER | CLONE_NEWNET)) < 0)
        return FAILED;
    memset(&loopback, 0, sizeof loopback);
    strcpy(loopback.ifr_name, "lo");
    loopback.ifr_flags = IFF_UP;
    fd = make(to, SOCK_STREAM);
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &loopback) < 0)
        return FAILED;
    if (syscall(SYS_bind, (long)fd, (long)&to->address, (long)to->length) < 0)
        return FAILED;
    return syscall(SYS_listen, (long)fd, 1L) < 0 ? FAILED : DONE;
}

/* Connects to ADDRESS:PORT while a child listens at the same in another network. */
static int tcp_beside(const struct target *to)
{
    char listening = 0;
    int told[2], outcome;
    pid_t child;
    if (pipe(told) < 0 || (child = fork()) < 0)
        return FAILED;
    if (child == 0) {
        listening = listens_apart(to) != FAILED;
        if (write(told[1], &listening, 1) == 1)
            pause();
        _exit(0);
    }
    if (read(told[0], &listening, 1) != 1 || !listening) {
        errno = EOPNOTSUPP;
        outcome = FAILED;
    } else {
        outcome = tcp(to);
    }
    int found = errno;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    errno = found;
    return outcome;
}

/* An address and a descriptor that change while they are used. */
static struct race {
    struct target to;
    in_port_t ports[2];
    int fd, sockets[2];
    volatile int over;
} race;

static void *swap(void *unused)
{
    struct sockaddr_in *address = (struct sockaddr_in *)&race.to.address;
    (void)unused;
    for (unsigned turn = 0; !race.over; turn++) {
        *(volatile in_port_t *)&address->sin_port = race.ports[turn & 1];
        syscall(SYS_dup3, (long)race.sockets[turn >> 1 & 1], (long)race.fd, 0L);
    }
    return NULL;
}

/* Tries whether a message or a connection reaches ADDRESS:PORT because the address or the descriptor is exchanged after
 * the check. Only the other end can tell. This end always answers `ok`. */
static int races(char **args)
{
    enum { TURNS = 400 };
    pthread_t swapper;
    struct iovec piece;
    struct msghdr header;
    if (read_target(args, &race.to) == FAILED)
        return FAILED;
    race.ports[0] = htons((in_port_t)atoi(args[1]));
    race.ports[1] = htons((in_port_t)atoi(args[2]));
    race.sockets[0] = make(&race.to, SOCK_DGRAM);
    race.sockets[1] = socket(AF_UNIX, SOCK_STREAM, 0);
    race.fd = dup(race.sockets[0]);
    if (race.fd < 0 || pthread_create(&swapper, NULL, swap, NULL) != 0)
        return FAILED;
    header = message(&race.to, &piece);
    for (int turn = 0; turn < TURNS; turn++) {
        int fd = make(&race.to, SOCK_DGRAM);
        syscall(SYS_sendto, (long)race.fd, "x", 1L, 0L, (long)&race.to.address, (long)race.to.length);
        syscall(SYS_sendmsg, (long)race.fd, &header, 0L);
        if (syscall(SYS_connect, (long)fd, (long)&race.to.address, (long)race.to.length) == 0)
            send(fd, "x", 1, 0);
        close(fd);
    }
    race.over = 1;
    pthread_join(swapper, NULL);
    return DONE;
}

static int reach(char **args)
{
    struct target to;
    const char *how = args[0];
    if (read_target(args + 1, &to) == FAILED)
        return FAILED;
    if (strcmp(how, "tcp") == 0)
        return tcp(&to);
    if (strcmp(how, "tcp-beside") == 0)
        return tcp_beside(&to);
    if (strcmp(how, "tcp-fast") == 0)
        return send_to(&to, SOCK_STREAM, MSG_FASTOPEN);
    if (strcmp(how, "udp") == 0)
        return udp_connected(&to);
    if (strcmp(how, "udp-sendto") == 0)
        return send_to(&to, SOCK_DGRAM, 0);
    if (strcmp(how, "udp-sendmsg") == 0)
        return udp_sendmsg(&to);
    if (strcmp(how, "udp-sendmmsg") == 0)
        return udp_sendmmsg(&to);
    if (strcmp(how, "route") == 0)
        return route(&to);
    if (strcmp(how, "listen") == 0)
        return listens(&to);
    if (strcmp(how, "listen-unbound") == 0)
        return listens_unbound(&to);
    if (strcmp(how, "receive") == 0)
        return receives(&to);
    errno = EINVAL;
    return FAILED;
}

const struct verb network_verbs[] = {{"net", 3, reach}, {"net-race", 3, races}, {NULL, 0, NULL}};
