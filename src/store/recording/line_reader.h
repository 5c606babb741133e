/*
 * A file line by line, of any length, in bounded memory: it is read in pieces of 1 MiB, and a line is handed
 * out where it lies. The buffer grows only for a line that is longer, and never past LINE_MAX_BYTES.
 */
#ifndef METRON_STORE_RECORDING_LINE_READER_H
#define METRON_STORE_RECORDING_LINE_READER_H

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
    size_t start, end;             /* of what is not handed out yet */
    size_t line_number;            /* of the line handed out last, from 1 */
    bool at_end;                   /* of the file */
    bool passing;                  /* the rest of a line that was too long is to be passed over */
    size_t damaged, first_damaged; /* lines that were no use, and the number of the first; 0: none */
};

/* Opens a regular file; the error names it. */
int line_reader_open(struct line_reader *reader, const char *path, struct metron_error *error);
/* The same over bytes, which are borrowed. */
void line_reader_init(struct line_reader *reader, const char *bytes, size_t length);
/* 1 and a line without its newline, borrowed until the next call (also the last, where the newline is
 * missing); 0 at the end; -E2BIG: a line that is too long was passed over, go on; other negative errnos of
 * the file. */
int line_reader_next(struct line_reader *reader, struct json_text *line);
/* The next line with more than blanks in it; one that is too long counts as damaged. 1, 0, or of the file. */
int line_reader_next_filled(struct line_reader *reader, struct json_text *line);
/* The line handed out last is none of those that the file is made of. */
void line_reader_count_damage(struct line_reader *reader);
/* How many were; the number of the first in *first_line (may be NULL). */
size_t line_reader_damaged(const struct line_reader *reader, size_t *first_line);
/* The same in words, for whoever read the file: "PATH: 2 damaged lines passed over, the first is line 7".
 * False: there were none, and *out is as it was. */
bool line_reader_tell_damage(const char *path, size_t count, size_t first_line, struct metron_error *out);
void line_reader_fini(struct line_reader *reader);

#endif
