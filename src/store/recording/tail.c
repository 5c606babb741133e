#include "store/recording/tail.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool tail_read(struct tail *tail, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    ssize_t count = -1;

    *tail = (struct tail){0};
    if (fd < 0)
        return false;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        tail->is_whole = status.st_size <= (off_t)TAIL_BYTES;
        size_t size = tail->is_whole ? (size_t)status.st_size : TAIL_BYTES;
        tail->bytes = malloc(size + 1);
        if (tail->bytes)
            count = pread(fd, tail->bytes, size, status.st_size - (off_t)size);
    }
    (void)close(fd);
    tail->length = count > 0 ? (size_t)count : 0;
    return count >= 0;
}

bool tail_next(struct tail *tail, struct json_text *line)
{
    if (tail->at >= tail->length)
        return false;
    const char *begin = tail->bytes + tail->at;
    const char *newline = memchr(begin, '\n', tail->length - tail->at);
    *line = (struct json_text){begin, newline ? (size_t)(newline - begin) : tail->length - tail->at};
    tail->at += line->length + 1;
    return true;
}

void tail_fini(struct tail *tail)
{
    free(tail->bytes);
    *tail = (struct tail){0};
}
