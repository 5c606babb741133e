/*
 * Listening to the kernel in a libuv loop: its events as they come, in batches, and the loading of our
 * programs behind whatever is already running, with the change from one source to the other.
 */
#ifndef METRON_LOOP_LISTENING_H
#define METRON_LOOP_LISTENING_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "loop/kernel_events.h"
#include "tree/tree.h"

struct listening {
    uv_loop_t *loop;              /* borrowed, as are the next three */
    struct tree *tree;            /* whom events are about */
    struct kernel_events *events; /* where they come from */
    void *context;
    void (*changed)(void *context); /* another source has taken over; may be NULL */
    bool stopped;                   /* nothing new is begun */

    /* A handle is closed before its descriptor is: libuv goes by the number, which another thread may have
     * got by then. */
    uv_poll_t source_polls[2]; /* of the source that was there first, and of the one after the loading */
    uv_poll_t *source_poll;    /* the one in use; NULL: there is no source */
    uv_poll_t load_poll;       /* of the loading */
    uv_timer_t pause, load_timer;
    uint64_t pause_ms;
};

/* Takes events from now on, if the kernel tells any. The first five fields are set. 0 or a negative errno. */
int listening_start(struct listening *listening);
/* Loads our programs, if that is to be, and gives up the privilege for it afterwards, or at once. */
void listening_load(struct listening *listening, uint64_t after_ms);

#endif
