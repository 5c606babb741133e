/*
 * A file line by line, of any length, in bounded memory: it is read in pieces of 1 MiB, and a line is handed
 * out where it lies. The buffer grows only for a line that is longer, and never past LINE_MAX_BYTES.
 */
#ifndef METRON_STORE_LINE_READER_H
#define METRON_STORE_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json_reader.h"

/* A longer line is no line of ours. */
#define LINE_MAX_BYTES ((size_t)64 << 20)

struct line_reader {
    int fd;       /* -1: the bytes are all there is */
    char *buffer; /* owned if fd >= 0 */
    size_t capacity;
    size_t start, end;  /* of what is not handed out yet */
    size_t line_number; /* of the line handed out last, from 1 */
    bool at_end;        /* of the file */
    bool passing;       /* the rest of a line that was too long is to be passed over */
};

/* Opens a regular file; the error names it. */
int line_reader_open(struct line_reader *reader, const char *path, struct metron_error *error);
/* The same over bytes, which are borrowed. */
void line_reader_init(struct line_reader *reader, const char *bytes, size_t length);
/* 1 and a line without its newline, borrowed until the next call (also the last, where the newline is
 * missing); 0 at the end; -E2BIG: a line that is too long was passed over, go on; other negative errnos of
 * the file. */
int line_reader_next(struct line_reader *reader, struct json_text *line);
/* Nothing but blanks. */
bool line_is_blank(const struct json_text *line);
void line_reader_fini(struct line_reader *reader);

#endif
