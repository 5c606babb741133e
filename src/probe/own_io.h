/*
 * What the processes that we waited for had read and written. The kernel adds a child's counters to its
 * parent's when the parent waits for it, and shows them in the parent's /proc/PID/io together with the
 * parent's own. Taking off what each living thread did itself leaves the children (and threads that have
 * ended).
 *
 * An ordinary user cannot open the io file of a zombie: this is how such a one's counters are known all the
 * same.
 */
#ifndef METRON_PROBE_OWN_IO_H
#define METRON_PROBE_OWN_IO_H

#include "probe/pid/files.h"

/* Of the calling process, so far, and how many threads it has: one that ends adds its own to this, so two
 * readings compare only if they have the same number. -EAGAIN: the other threads are too busy to get a
 * picture of one instant. */
int own_io_of_children(struct pid_io *out, unsigned *threads);

#endif
