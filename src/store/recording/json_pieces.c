/*
 * Any file of JSON, piece by piece. The buffer holds what is not handed out yet; it grows only for a line or
 * a document that does not fit, and never past twice JSON_PIECE_MAX.
 */
#include "store/recording/json_pieces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"

#define READ_STEP    ((size_t)1 << 18)
#define BINARY_LOOKS 4096 /* a NUL in the first bytes means that it is no text at all */

static void use_fd(struct json_pieces *pieces, const char *name, int fd)
{
    json_pieces_init(pieces, name, NULL, 0);
    pieces->at_end = false;
    pieces->fd = fd;
    pieces->close_fd = fd > STDIN_FILENO;
}

int json_pieces_open(struct json_pieces *pieces, const char *path, struct metron_error *error)
{
    bool is_stdin = strcmp(path, "-") == 0;

    use_fd(pieces, is_stdin ? "stdin" : path, is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC));
    return pieces->fd < 0 ? error_set(error, -errno, "%s: %s", path, strerror(errno)) : 0;
}

int json_pieces_open_regular(struct json_pieces *pieces, const char *path, struct metron_error *error)
{
    struct stat status;

    use_fd(pieces, path, file_open_regular(path, &status, error));
    return pieces->fd < 0 ? pieces->fd : 0;
}

void json_pieces_init(struct json_pieces *pieces, const char *name, const char *bytes, size_t length)
{
    /* The bytes are never written to: all that there is, is there. */
    *pieces = (struct json_pieces){
        .name = name, .fd = -1, .buffer = (char *)bytes, .end = length, .line = 1, .at_end = true};
    json_reader_init(&pieces->reader, "", 0);
}

void json_pieces_fini(struct json_pieces *pieces)
{
    json_reader_fini(&pieces->reader);
    if (pieces->fd >= 0)
        free(pieces->buffer);
    if (pieces->close_fd)
        (void)close(pieces->fd);
    *pieces = (struct json_pieces){.fd = -1, .at_end = true, .shape = JSON_SHAPE_OVER};
}

/* -- Bytes -- */

/* Room for more bytes behind those that are there. -E2BIG: there are as many as may be. */
static int make_room(struct json_pieces *pieces)
{
    size_t left = pieces->end - pieces->start;

    if (left > JSON_PIECE_MAX)
        return -E2BIG;
    if (pieces->capacity - pieces->end >= READ_STEP)
        return 0;
    if (pieces->start > 0) {
        memmove(pieces->buffer, pieces->buffer + pieces->start, left);
        pieces->start = 0;
        pieces->end = left;
    }
    if (pieces->capacity - left >= READ_STEP)
        return 0;

    return ARRAY_RESERVE(pieces->buffer, pieces->capacity, left + 2 * READ_STEP);
}

/* Reads some more; at the end of the file only says so. */
static int read_more(struct json_pieces *pieces)
{
    ssize_t count;
    int code = make_room(pieces);

    if (code < 0)
        return code;
    do
        count = read(pieces->fd, pieces->buffer + pieces->end, READ_STEP);
    while (count < 0 && errno == EINTR);
    if (count < 0)
        return -errno;
    pieces->at_end = count == 0;
    pieces->end += (size_t)count;
    return 0;
}

static struct json_text rest(const struct json_pieces *pieces)
{
    return (struct json_text){pieces->buffer ? pieces->buffer + pieces->start : "",
                              pieces->end - pieces->start};
}

/* The next line, with its newline if it has one, not taken yet; empty at the end of the file. -E2BIG: it is
 * too long, and its first part is there. */
static int see_line(struct json_pieces *pieces, struct json_text *line)
{
    size_t searched = 0;

    for (;;) {
        *line = rest(pieces);

        const char *newline =
            line->length > searched ? memchr(line->bytes + searched, '\n', line->length - searched) : NULL;

        if (newline)
            line->length = (size_t)(newline + 1 - line->bytes);
        if (newline || pieces->at_end)
            return line->length > JSON_PIECE_MAX ? -E2BIG : 0;
        searched = line->length;

        int code = read_more(pieces);

        if (code < 0) {
            *line = rest(pieces); /* the bytes may have moved */
            return code;
        }
    }
}

static void take(struct json_pieces *pieces, size_t length)
{
    const char *at = pieces->buffer + pieces->start, *end = at + length;

    pieces->start += length;
    while (length > 0 && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        pieces->line++;
        if (++at == end)
            break;
    }
}

/* Passes over the rest of a line that is too long. */
static int pass_over(struct json_pieces *pieces)
{
    for (;;) {
        struct json_text left = rest(pieces);
        const char *newline = left.length ? memchr(left.bytes, '\n', left.length) : NULL;

        take(pieces, newline ? (size_t)(newline + 1 - left.bytes) : left.length);
        if (newline || pieces->at_end)
            return 0;

        int code = read_more(pieces);

        if (code < 0)
            return code;
    }
}

/* -- Checking -- */

static bool is_value(struct json_pieces *pieces, const struct json_text *text)
{
    json_reader_reset(&pieces->reader, text->bytes, text->length);
    json_check_value(&pieces->reader, false);
    return json_reader_end(&pieces->reader, NULL) == 0;
}

/* What is_value found wrong, with the place in the file. */
static int complain(struct json_pieces *pieces, struct metron_error *error)
{
    const struct json_reader *reader = &pieces->reader;
    size_t line, column;

    if (reader->scratch.failed)
        return error_set(error, -ENOMEM, "%s: no memory to read it", pieces->name);
    json_reader_place(reader, &line, &column);
    return error_set(error, -EBADMSG, "%s: line %zu, column %zu: %s", pieces->name, pieces->line - 1 + line,
                     column, reader->complaint);
}

/* -- What it is -- */

static int file_error(const struct json_pieces *pieces, int code, struct metron_error *error)
{
    return error_set(error, code, "%s: %s", pieces->name,
                     code == -ENOMEM ? "no memory to read it" : strerror(-code));
}

static int over(struct json_pieces *pieces, int code)
{
    pieces->shape = JSON_SHAPE_OVER;
    return code;
}

/* Whether the second line is a value of its own, as in a file of lines whose first one is damaged. */
static bool second_line_is_value(struct json_pieces *pieces)
{
    struct json_text all = rest(pieces);
    const char *end = all.bytes + all.length;
    const char *newline = memchr(all.bytes, '\n', all.length);

    if (!newline || newline + 1 == end || !strchr("{[", newline[1]))
        return false;

    struct json_text second = {newline + 1, (size_t)(end - newline - 1)};
    const char *next = memchr(second.bytes, '\n', second.length);

    if (next)
        second.length = (size_t)(next - second.bytes);
    return is_value(pieces, &second);
}

/* The first line is no value: the whole is one, or it is a file of lines all the same, or no JSON. */
static int decide_whole(struct json_pieces *pieces, struct metron_error *error)
{
    int code = 0;

    while (code == 0 && !pieces->at_end)
        code = read_more(pieces);
    if (code < 0 && code != -E2BIG)
        return file_error(pieces, code, error);

    struct json_text all = rest(pieces);
    bool whole = code == 0 && all.length <= JSON_PIECE_MAX;

    pieces->shape = JSON_SHAPE_DOCUMENT;
    if (whole && is_value(pieces, &all))
        return 0;
    if (second_line_is_value(pieces)) {
        pieces->shape = JSON_SHAPE_LINES;
        return 0;
    }
    if (!whole)
        return error_set(error, -EFBIG,
                         "%s: no lines of JSON, and as a document it is too large (more than 64 MiB)",
                         pieces->name);
    (void)is_value(pieces, &all);
    return complain(pieces, error);
}

static int decide(struct json_pieces *pieces, struct metron_error *error)
{
    struct json_text line;
    int code;

    while ((code = see_line(pieces, &line)) == 0 && line.length > 0 &&
           text_is_only_blanks(line.bytes, line.length))
        take(pieces, line.length);
    if (code < 0 && code != -E2BIG)
        return file_error(pieces, code, error);
    if (line.length == 0)
        return error_set(error, -ENODATA, "%s: empty, there is nothing to show", pieces->name);
    if (memchr(line.bytes, '\0', line.length < BINARY_LOOKS ? line.length : BINARY_LOOKS))
        return error_set(error, -EILSEQ, "%s: binary, no JSON", pieces->name);
    pieces->shape = JSON_SHAPE_LINES;
    if (text_ends_with(pieces->name, ".jsonl") || (code == 0 && is_value(pieces, &line)))
        return 0;
    return decide_whole(pieces, error);
}

/* -- Pieces -- */

static int next_line(struct json_pieces *pieces, struct json_text *piece, struct metron_error *error)
{
    int code;

    while ((code = see_line(pieces, piece)) == 0 && piece->length > 0 &&
           text_is_only_blanks(piece->bytes, piece->length))
        take(pieces, piece->length);
    if (code == -E2BIG) {
        size_t line = pieces->line;

        code = pass_over(pieces);
        return code < 0 ? over(pieces, file_error(pieces, code, error))
                        : error_set(error, -EBADMSG, "%s: line %zu: longer than 64 MiB", pieces->name, line);
    }
    if (code < 0)
        return over(pieces, file_error(pieces, code, error));
    if (piece->length == 0)
        return over(pieces, 0);

    size_t length = piece->length;

    if (piece->bytes[length - 1] == '\n')
        piece->length--;
    code = is_value(pieces, piece) ? 1 : complain(pieces, error);
    take(pieces, length);
    return code;
}

int json_pieces_next(struct json_pieces *pieces, struct json_text *piece, struct metron_error *error)
{
    if (pieces->shape == JSON_SHAPE_UNKNOWN) {
        int code = decide(pieces, error);

        if (code < 0)
            return over(pieces, code);
    }
    if (pieces->shape == JSON_SHAPE_LINES)
        return next_line(pieces, piece, error);
    if (pieces->shape == JSON_SHAPE_OVER)
        return 0;
    *piece = rest(pieces);
    return over(pieces, 1);
}
