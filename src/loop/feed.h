/*
 * What a run tells the program that started it, as JSON lines over a socket (--feed): its records and events
 * as they come, what would stand on stderr, and at the end the whole of info.json. libmetron is at the other
 * end (api/), or any program that can make a pair of sockets.
 *
 *     {"started":{"pid":4711}}
 *     {"record":{...}}                                a line of usage.jsonl
 *     {"event":{...}}                                 a line of events.jsonl
 *     {"log":{"level":"warning","message":"..."}}
 *     {"end":{"dropped":0,"discarded":false,"info":{...}}}    the last one; or, where nothing came of it:
 *     {"error":{"code":-2,"message":"..."}}           a negative errno
 *
 * Nobody waits for a slow reader: what does not fit into the socket is kept, up to a limit; then records,
 * events and messages are dropped, and counted. Only the last line is waited for. When the other end closes
 * its side for writing, or altogether, the run is to end.
 *
 * Lines may come from any thread (a stream that is captured may have something to say). NULL is nobody to
 * tell.
 */
#ifndef METRON_LOOP_FEED_H
#define METRON_LOOP_FEED_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/log.h"
#include "schema/event.h"
#include "schema/record.h"
#include "schema/run_info.h"

struct feed;

/* Takes the socket `fd` over, and keeps it from programs that are started. Once in a process. -EINVAL: it is
 * no socket. */
int feed_open(int fd, struct metron_error *error);
/* The one that this process has open; NULL: none. */
struct feed *feed_current(void);
int feed_fd(const struct feed *feed); /* readable: the run is to end */

void feed_started(struct feed *feed, pid_t pid);
/* Returns the bytes of the line; 0: it was dropped, or there is nobody. */
size_t feed_record(struct feed *feed, const struct record *record);
void feed_event(struct feed *feed, const struct event *event);
/* Sends what could not be sent before, as far as that goes without waiting. */
void feed_flush(struct feed *feed);

/* The last line: waits until all is sent or the other end has gone. `discarded`: the files were removed. */
void feed_end(struct feed *feed, const struct run_info *info, bool discarded);
void feed_fail(struct feed *feed, const struct metron_error *error);

#endif
