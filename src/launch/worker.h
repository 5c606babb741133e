/*
 * A thread that takes no signals, so that they all reach the loop, yet can be called out of a system call it
 * is blocked in.
 */
#ifndef METRON_LAUNCH_WORKER_H
#define METRON_LAUNCH_WORKER_H

#include <pthread.h>

/* 0 or a negative errno. `run` gets `argument`. To be joined with pthread_join. */
int worker_start(pthread_t *thread, void *(*run)(void *), void *argument);
/* Makes a blocked call of the thread fail with EINTR. A thread about to enter that call misses it: repeat
 * until it has reacted. The thread must not have been joined yet. */
void worker_interrupt(pthread_t thread);

#endif
