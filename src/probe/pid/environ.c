#include "probe/pid/environ.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PIECE_SIZE ((size_t)16 * 1024)

int pid_environ_read(struct pid_reader *reader, pid_t pid, struct strbuf *out)
{
    char path[32];
    ssize_t count;

    strbuf_reset(out);
    (void)snprintf(path, sizeof(path), "%d/environ", (int)pid);
    int fd = pid_reader_open(reader, path, O_RDONLY);
    if (fd < 0)
        return fd;
    do {
        if (strbuf_reserve(out, PIECE_SIZE) < 0) {
            count = -ENOMEM;
            break;
        }
        count = read(fd, out->data + out->length, PIECE_SIZE);
        if (count < 0)
            count = -errno;
        else
            out->length += (size_t)count;
    } while (count == (ssize_t)PIECE_SIZE && out->length < PID_ENVIRON_MAX);
    pid_reader_close(reader, fd);
    return count < 0 ? (int)count : 0;
}

const char *pid_environ_find(const char *text, size_t length, const char *name)
{
    const size_t name_length = strlen(name);

    for (const char *at = text, *end = text + length, *next; at < end; at = next + 1) {
        next = memchr(at, '\0', (size_t)(end - at));
        if (!next)
            return NULL;
        if ((size_t)(next - at) > name_length && at[name_length] == '=' && memcmp(at, name, name_length) == 0)
            return at + name_length + 1;
    }
    return NULL;
}
