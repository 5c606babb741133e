/*
 * Any file of JSON, piece by piece: one piece is the whole document, or a line where the file holds a value a
 * line. Which of both it is, is told by what stands in it: con-duct's usage.json holds lines too.
 *
 * A piece is checked whole before it is handed out. Memory is bounded: a line, and a document, may have
 * JSON_PIECE_MAX bytes; a file of lines may be of any length.
 */
#ifndef METRON_STORE_RECORDING_JSON_PIECES_H
#define METRON_STORE_RECORDING_JSON_PIECES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json_reader.h"

#define JSON_PIECE_MAX ((size_t)64 << 20)

enum json_shape { JSON_SHAPE_UNKNOWN, JSON_SHAPE_LINES, JSON_SHAPE_DOCUMENT, JSON_SHAPE_OVER };

struct json_pieces {
    const char *name; /* for messages; borrowed */
    int fd;           /* -1: the bytes are all there is */
    bool close_fd;
    char *buffer; /* owned if fd >= 0 */
    size_t capacity;
    size_t start, end; /* of what is not handed out yet */
    size_t line;       /* of the first byte that is not handed out, from 1 */
    bool at_end;       /* of the file */
    enum json_shape shape;
    struct json_reader reader;
};

/* `path` "-" is stdin. The path must outlive the pieces. The error names the file. */
int json_pieces_open(struct json_pieces *pieces, const char *path, struct metron_error *error);
/* The same for a file that the caller did not name: a pipe in its place is an error, not waited for. */
int json_pieces_open_regular(struct json_pieces *pieces, const char *path, struct metron_error *error);
/* The same over bytes, which are borrowed, for tests and fuzzing. */
void json_pieces_init(struct json_pieces *pieces, const char *name, const char *bytes, size_t length);
/* 1 and a piece, borrowed until the next call; 0 at the end; -EBADMSG: a piece that is no JSON was passed
 * over, go on (the error names file, line and column); other negative errnos: there is no more. A file
 * without any value is -ENODATA. */
int json_pieces_next(struct json_pieces *pieces, struct json_text *piece, struct metron_error *error);
void json_pieces_fini(struct json_pieces *pieces);

#endif
