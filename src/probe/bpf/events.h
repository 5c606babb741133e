/*
 * The records of our kernel-side programs (bpf/wire.h), as lifecycle events: bytes in, struct out.
 */
#ifndef METRON_PROBE_BPF_EVENTS_H
#define METRON_PROBE_BPF_EVENTS_H

#include <stddef.h>

#include "probe/lifecycle.h"

/* 0 and the event, whose texts point into `record`; -EBADMSG for a record that is none of ours. */
int bpf_event_parse(const void *record, size_t length, struct lifecycle_event *out);

#endif
