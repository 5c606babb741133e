/*
 * Reading events.jsonl line by line; damaged lines are passed over and counted. A line is damaged if it is no
 * JSON or does not tell what happened and when.
 */
#ifndef METRON_STORE_RECORDING_EVENT_READER_H
#define METRON_STORE_RECORDING_EVENT_READER_H

#include <stddef.h>

#include "base/error.h"
#include "schema/recording.h"

struct event_reader;

/* -ENOENT: the run has no events file. */
int event_reader_open(const struct recording *recording, struct event_reader **out,
                      struct metron_error *error);
/* The same over bytes, which are borrowed, for tests and fuzzing. */
int event_reader_open_bytes(const char *bytes, size_t length, struct event_reader **out,
                            struct metron_error *error);
/* 1 and an event; 0 at the end; or a negative errno. */
int event_reader_next(struct event_reader *reader, const struct recorded_event **out);
size_t event_reader_damaged(const struct event_reader *reader, size_t *first_line);
void event_reader_free(struct event_reader *reader);

#endif
