#include "store/recorder_sign.h"

#include <string.h>

#include "store/recording/reader.h"
#include "store/recording/tail.h"

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

bool recorder_sign_read(const char *usage_path, struct recorder_sign *out)
{
    struct json_text line;
    struct tail tail;
    double before = 0, stamp;
    bool any = false;

    *out = (struct recorder_sign){0};
    if (tail_read(&tail, usage_path))
        while (tail_next(&tail, &line)) {
            if (!stamp_of(line.bytes, line.length, &stamp))
                continue;
            before = any ? out->newest : 0;
            out->newest = stamp;
            any = true;
        }
    out->gap = before > 0 && out->newest > before ? out->newest - before : 0;
    tail_fini(&tail);
    return any;
}
