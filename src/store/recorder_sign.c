#include "store/recorder_sign.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/recording/reader.h"

#define TAIL_BYTES ((size_t)1 << 20) /* some records, also of a thousand processes */
#define STAMP_SIZE 64

/* A record begins with its timestamp. */
static bool stamp_of(const char *line, size_t length, double *out)
{
    static const char begin[] = "{\"timestamp\":\"";
    const size_t skip = sizeof(begin) - 1;
    char text[STAMP_SIZE];

    if (length <= skip || memcmp(line, begin, skip) != 0)
        return false;
    const char *end = memchr(line + skip, '"', length - skip);
    if (!end || (size_t)(end - line) - skip >= sizeof(text))
        return false;
    memcpy(text, line + skip, (size_t)(end - line) - skip);
    text[(size_t)(end - line) - skip] = '\0';
    return recording_parse_time(text, out);
}

static bool newest_two(const char *bytes, size_t length, struct recorder_sign *out)
{
    double before = 0, stamp;
    bool any = false;

    for (const char *line = bytes, *end = bytes + length; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        if (stamp_of(line, (size_t)((newline ? newline : end) - line), &stamp)) {
            before = any ? out->newest : 0;
            out->newest = stamp;
            any = true;
        }
        line = newline ? newline + 1 : end;
    }
    out->gap = before > 0 && out->newest > before ? out->newest - before : 0;
    return any;
}

bool recorder_sign_read(const char *usage_path, struct recorder_sign *out)
{
    char *bytes = malloc(TAIL_BYTES);
    int fd = open(usage_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    bool any = false;

    *out = (struct recorder_sign){0};
    if (bytes && fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        off_t from = status.st_size > (off_t)TAIL_BYTES ? status.st_size - (off_t)TAIL_BYTES : 0;
        ssize_t length = pread(fd, bytes, TAIL_BYTES, from);
        any = length > 0 && newest_two(bytes, (size_t)length, out);
    }
    if (fd >= 0)
        (void)close(fd);
    free(bytes);
    return any;
}
