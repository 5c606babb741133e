/*
 * Going to the background: the program that was started waits until the daemon has begun, or says why not,
 * and ends with that.
 */
#ifndef METRON_KEEPER_DETACH_H
#define METRON_KEEPER_DETACH_H

#include <stdbool.h>

struct detach;

/* True in the daemon, with `out` to tell how it went; false in the one that was started, once that is known,
 * with the exit code for it. To be called before any thread. */
bool detach(struct detach **out, int *exit_code);
/* 0: it has begun. Frees it; NULL is nothing. */
void detach_tell(struct detach *detach, int exit_code, const char *message);

#endif
