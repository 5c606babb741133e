/*
 * A thread that writes files for a loop, so that a disk that hangs delays no sample.
 *
 * The loop's thread puts text into channels, one for each file, and goes on at once. A channel holds a
 * bounded number of bytes: text that does not fit is dropped and counted. The thread hands the text of a
 * channel to `write`, as one piece. The lock is held while text is copied or buffers are swapped, never
 * during a write.
 */
#ifndef METRON_STORE_WRITE_QUEUE_H
#define METRON_STORE_WRITE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define WRITE_QUEUE_CHANNELS 8
#define WRITE_QUEUE_BYTES    ((size_t)8 * 1024 * 1024) /* in each channel; one text always fits an empty one */

struct write_queue;

struct write_queue_options {
    /* In the thread: 0 or a negative errno. Channels are served in the order of their numbers. */
    int (*write)(void *context, unsigned channel, const struct strbuf *text);
    void *context;
    void (*begin)(void);  /* called first in the new thread, say to drop capabilities; may be NULL */
    size_t channel_bytes; /* 0: WRITE_QUEUE_BYTES */
};

/* Starts the thread. NULL: it cannot be started. */
struct write_queue *write_queue_new(const struct write_queue_options *options);
/* Adds to a channel or, with `replace`, takes the place of everything before: text that waits there, and the
 * failure of an earlier write. 0; -ENOBUFS: it did not fit; -ENOMEM; or the negative errno of an earlier
 * write to this channel, which is returned once. */
int write_queue_put(struct write_queue *queue, unsigned channel, const struct strbuf *text, bool replace);
/* Waits until everything is written, and ends the thread. `codes[i]`: what write_queue_put would return next
 * for channel i; `dropped[i]`: how many lines did not fit. */
void write_queue_finish(struct write_queue *queue, int codes[WRITE_QUEUE_CHANNELS],
                        uint64_t dropped[WRITE_QUEUE_CHANNELS]);

#endif
