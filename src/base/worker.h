/*
 * A thread that works for a loop, so that the loop itself never blocks; and the descriptors by which the two
 * wake each other.
 *
 * The thread takes no signals, since those are the loop's. It runs until it is through or is asked to stop. A
 * thread that is stuck, in the kernel or in a driver, cannot be ended: then the loop leaves it behind with
 * all that it uses, and `release` is called by the last of the two that has a use for it.
 */
#ifndef METRON_BASE_WORKER_H
#define METRON_BASE_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* An eventfd that does not block and is not inherited; or a negative errno. */
int wake_open(void);
/* Never blocks. */
void wake_poke(int fd);
/* Whether it was poked, within that time; negative: however long that takes. */
bool wake_wait(int fd, int64_t milliseconds);

struct worker_options {
    const char *name;             /* at most 15 bytes, as ps and gdb show it */
    void (*run)(void *owner);     /* in the thread */
    void (*release)(void *owner); /* frees the owner, which has the worker inside */
    void *owner;
    bool is_interruptible; /* see worker_interrupt; one that only copies, on a small stack */
};

struct worker {
    struct worker_options options;
    pthread_t thread;
    int wake_fd; /* poked by the loop: something is to be done, or the thread is to stop */
    int news_fd; /* poked by the thread: something is done, or it has ended */
    atomic_bool stop;
    atomic_bool left; /* by the thread, which has ended, or by the loop; the other one releases the owner */
};

/* 0 or a negative errno: then nothing was started, and the owner is not released. */
int worker_start(struct worker *worker, const struct worker_options *options);

/* In the thread. */
bool worker_wait(struct worker *worker, int64_t milliseconds); /* as wake_wait */
bool worker_is_stopping(const struct worker *worker);
void worker_notify(struct worker *worker);

/* In the loop's thread. */
void worker_wake(struct worker *worker);
/* Asks it to end; returns at once. */
void worker_stop(struct worker *worker);
/* Whether the thread has ended, within that time; negative: however long that takes. Takes its news. */
bool worker_await(struct worker *worker, int64_t milliseconds);
/* Makes a blocked call of the thread fail with EINTR. A thread about to enter that call misses it: repeat
 * until it has reacted. */
void worker_interrupt(const struct worker *worker);
/* Releases the owner. False: the thread has not ended; it is left behind, and releases the owner once it is
 * through. */
bool worker_free(struct worker *worker);

#endif
