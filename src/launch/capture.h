/*
 * One stream on its way to the screen and to a file, in a thread of its own: a slow screen or disk delays
 * nothing else, and the writer is held back only as a pipe would. A command's output is captured in a process
 * of its own (capture_process.h).
 *
 * Bytes go through unchanged and in order. A file that cannot be written any more (disk full) is reported
 * once and the stream is only shown from then on. A screen that cannot be written any more (nobody reads it,
 * its disk is full) closes the pipe, so that the command notices it as it would without metron: it must not
 * end as if all were well. A terminal that has hung up sends its own signal: then the stream is only
 * recorded.
 */
#ifndef METRON_LAUNCH_CAPTURE_H
#define METRON_LAUNCH_CAPTURE_H

#include <stdbool.h>

#include "base/error.h"

struct capture; /* one stream; opaque */

struct capture_options {
    /* Read end of a pipe or a pty master; owned by the capture from now on, also if it fails to start. It is
     * closed when the stream ends. */
    int source_fd;
    int show_fd;      /* where it is shown (1 or 2), or -1; borrowed, never made non-blocking */
    int record_fd;    /* the file, or -1; borrowed. With neither, the stream is read and dropped */
    const char *name; /* "stdout" or "stderr", for messages; borrowed */
};

int capture_start(const struct capture_options *options, struct capture **out, struct metron_error *error);

/* The command has ended: a pty ends when nobody has it open any more. Until then it is kept, since a command
 * may close its terminal and open it again. */
void capture_command_ended(struct capture *capture);
/* Asks to deliver what is in the pipe now, and to go on. */
void capture_flush(struct capture *capture);
/* Whether that was done since it was last asked. */
bool capture_flushed(struct capture *capture);
/* Whether the thread has ended: all writers have gone, the screen has gone, or capture_stop. */
bool capture_has_ended(struct capture *capture);
/* Readable once either has come to be true, until capture_has_ended was asked; borrowed. */
int capture_news_fd(const struct capture *capture);
/* Records what is in the pipe now and ends the thread, without waiting for a writer that still holds the pipe
 * or for a screen that blocks. */
void capture_stop(struct capture *capture);
/* Stops it if it still runs. NULL is allowed. */
void capture_free(struct capture *capture);

#endif
