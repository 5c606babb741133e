#include "store/recorder_sign.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "store/recording/reader.h"

#define STAMP_SIZE 64
#define END_BYTES  ((size_t)1 << 20) /* some records, also of a thousand processes */

/* A record begins with its timestamp; con-duct has a blank before it. */
static bool stamp_of(const char *line, size_t length, double *out)
{
    static const char *const begins[] = {"{\"timestamp\":\"", "{\"timestamp\": \""};
    char text[STAMP_SIZE];
    size_t skip = 0;

    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
        if (length > strlen(begins[i]) && memcmp(line, begins[i], strlen(begins[i])) == 0)
            skip = strlen(begins[i]);
    if (skip == 0)
        return false;
    const char *end = memchr(line + skip, '"', length - skip);
    if (!end || (size_t)(end - line) - skip >= sizeof(text))
        return false;
    memcpy(text, line + skip, (size_t)(end - line) - skip);
    text[(size_t)(end - line) - skip] = '\0';
    return recording_parse_time(text, out);
}

/* The last bytes of a regular file: what is newest in it, at a cost that does not grow with it. NULL: it
 * cannot be read. The caller frees it. */
static char *read_end(const char *path, size_t *length)
{
    struct stat status;
    int fd = file_open_regular(path, &status, NULL);

    *length = 0;
    if (fd < 0)
        return NULL;
    size_t size = status.st_size < (off_t)END_BYTES ? (size_t)status.st_size : END_BYTES;
    char *bytes = malloc(size + 1);
    ssize_t count = bytes ? pread(fd, bytes, size, status.st_size - (off_t)size) : 0;
    (void)close(fd);
    *length = count > 0 ? (size_t)count : 0;
    return bytes;
}

bool recorder_sign_read(const char *usage_path, struct recorder_sign *out)
{
    size_t length, line = 0;
    char *bytes = read_end(usage_path, &length);
    double before = 0, stamp;
    bool any = false;

    *out = (struct recorder_sign){0};
    for (size_t at = 0; at < length; at += line + 1) {
        const char *newline = memchr(bytes + at, '\n', length - at);
        line = newline ? (size_t)(newline - bytes) - at : length - at;
        if (!stamp_of(bytes + at, line, &stamp))
            continue;
        before = any ? out->newest : 0;
        out->newest = stamp;
        any = true;
    }
    out->gap = before > 0 && out->newest > before ? out->newest - before : 0;
    free(bytes);
    return any;
}
