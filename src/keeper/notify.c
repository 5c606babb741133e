/*
 * The protocol of sd_notify(3), which is one datagram to the socket that $NOTIFY_SOCKET names: not worth a
 * library.
 */
#include "keeper/notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = path ? strlen(path) : 0;

    if (length == 0 || length >= sizeof(address.sun_path))
        return;
    (void)memcpy(address.sun_path, path, length);
    if (address.sun_path[0] == '@') /* an abstract name */
        address.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    (void)close(fd);
}

void notify_ready(void)
{
    notify("READY=1\nSTATUS=watching");
}

void notify_upgrading(double done)
{
    char state[128];

    (void)snprintf(state, sizeof(state),
                   "EXTEND_TIMEOUT_USEC=120000000\nSTATUS=bringing the history up to this version: %.0f %%",
                   done * 100);
    notify(state);
}

void notify_stopping(void)
{
    notify("STOPPING=1");
}

/* A unit that ends before it was ready would have failed. */
void notify_turned_off(void)
{
    notify("READY=1\nSTATUS=turned off: enabled = no\nSTOPPING=1");
}
