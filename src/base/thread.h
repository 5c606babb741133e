/*
 * Threads beside a loop: a thread that takes no signals, since those are the loop's, and a descriptor by
 * which one wakes the other.
 */
#ifndef METRON_BASE_THREAD_H
#define METRON_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* `name`: at most 15 bytes, as ps and gdb show it. 0 or a negative errno. */
int thread_start(pthread_t *thread, const char *name, void *(*run)(void *context), void *context);

/* An eventfd that does not block and is not inherited; or a negative errno. */
int wake_open(void);
/* Never blocks. */
void wake_poke(int fd);
/* Whether it was poked, within that time; negative: however long that takes. */
bool wake_wait(int fd, int64_t milliseconds);

#endif
