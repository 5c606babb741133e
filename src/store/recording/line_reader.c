#include "store/recording/line_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"

#define PIECE ((size_t)1 << 20)

int line_reader_open(struct line_reader *reader, const char *path, struct metron_error *error)
{
    struct stat status;

    *reader = (struct line_reader){.fd = file_open_regular(path, &status, error), .capacity = PIECE};
    if (reader->fd < 0)
        return reader->fd;
    reader->buffer = malloc(PIECE);
    if (reader->buffer)
        return 0;
    line_reader_fini(reader);
    return error_set(error, -ENOMEM, "%s: no memory to read it", path);
}

void line_reader_init(struct line_reader *reader, const char *bytes, size_t length)
{
    /* Never written to: all that there is, is there. */
    *reader = (struct line_reader){.fd = -1, .buffer = (char *)bytes, .end = length, .at_end = true};
}

/* Makes room behind the bytes that are left. */
static int make_room(struct line_reader *reader)
{
    size_t left = reader->end - reader->start;

    if (reader->start > 0) {
        memmove(reader->buffer, reader->buffer + reader->start, left);
        reader->start = 0;
        reader->end = left;
    }
    if (left < reader->capacity)
        return 0;
    if (reader->capacity >= LINE_MAX_BYTES)
        return -E2BIG;

    return ARRAY_RESERVE(reader->buffer, reader->capacity, left + PIECE);
}

static int read_more(struct line_reader *reader)
{
    ssize_t count;

    do
        count = read(reader->fd, reader->buffer + reader->end, reader->capacity - reader->end);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return -errno;
    reader->at_end = count == 0;
    reader->end += (size_t)count;
    return 0;
}

/* Whether the rest of the line that was too long is behind us. */
static bool pass_over(struct line_reader *reader)
{
    char *begin = reader->buffer + reader->start;
    char *newline = memchr(begin, '\n', reader->end - reader->start);

    reader->start = newline ? (size_t)(newline + 1 - reader->buffer) : reader->end;
    if (newline || reader->at_end)
        reader->passing = false;
    return !reader->passing;
}

int line_reader_next(struct line_reader *reader, struct json_text *line)
{
    size_t searched = 0;

    for (;;) {
        size_t length = reader->end - reader->start;
        char *begin = reader->buffer + reader->start;
        char *newline = NULL;
        int code;

        if (reader->passing && pass_over(reader))
            return -E2BIG;
        if (!reader->passing && length > searched)
            newline = memchr(begin + searched, '\n', length - searched);
        if (newline || (!reader->passing && reader->at_end && length > 0)) {
            size_t end = newline ? (size_t)(newline - begin) : length;

            *line = (struct json_text){begin, end};
            reader->start += newline ? end + 1 : end;
            reader->line_number++;
            return 1;
        }
        if (reader->at_end)
            return 0;
        searched = reader->passing ? 0 : length;
        code = make_room(reader);
        if (code == -E2BIG) {
            reader->line_number++;
            reader->passing = true;
            reader->start = reader->end;
            searched = 0;
            code = make_room(reader);
        }
        if (code == 0)
            code = read_more(reader);
        if (code < 0)
            return code;
    }
}

int line_reader_next_filled(struct line_reader *reader, struct json_text *line)
{
    for (;;) {
        int code = line_reader_next(reader, line);

        if (code == -E2BIG)
            line_reader_count_damage(reader);
        else if (code != 1 || !text_is_only_blanks(line->bytes, line->length))
            return code;
    }
}

void line_reader_count_damage(struct line_reader *reader)
{
    if (reader->damaged++ == 0)
        reader->first_damaged = reader->line_number;
}

size_t line_reader_damaged(const struct line_reader *reader, size_t *first_line)
{
    if (first_line)
        *first_line = reader->first_damaged;
    return reader->damaged;
}

bool line_reader_tell_damage(const char *path, size_t count, size_t first_line, struct metron_error *out)
{
    if (count > 0)
        (void)error_set(out, -EBADMSG, "%s: %zu damaged line%s passed over, %sline %zu", path, count,
                        count == 1 ? "" : "s", count == 1 ? "" : "the first is ", first_line);
    return count > 0;
}

void line_reader_fini(struct line_reader *reader)
{
    if (reader->fd >= 0) {
        (void)close(reader->fd);
        free(reader->buffer);
    }
    *reader = (struct line_reader){.fd = -1};
}
