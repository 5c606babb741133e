/*
 * How a thread wakes the daemon's loop: it pokes an eventfd (base/worker.h), and the loop does what was
 * agreed on.
 *
 * For work that may take long. libuv's pool has four threads, and clients get their answers from them:
 * whoever waits for a debugger or for the kernel has a thread of its own. The descriptor stays the owner's,
 * so that a thread that is stuck may poke it whatever has become of the loop.
 */
#ifndef METRON_DAEMON_WAKE_WATCH_H
#define METRON_DAEMON_WAKE_WATCH_H

#include <uv.h>

struct wake_watch;

/* `fd`: of wake_open. The loop does not stay for it. NULL: no memory, or no room for one more descriptor. */
struct wake_watch *wake_watch_new(uv_loop_t *loop, int fd, void (*on_wake)(void *context), void *context);
/* Before the descriptor is closed; the loop may have closed its handles and ended. NULL is nothing. */
void wake_watch_free(struct wake_watch *watch);

#endif
