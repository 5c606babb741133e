/*
 * The last sign of life of a recorder that cannot be asked: of a metron on another machine (a batch job, seen
 * through a shared file system), and of any that has not written an info.json. It is the time of its newest
 * record.
 */
#ifndef METRON_STORE_RECORDER_SIGN_H
#define METRON_STORE_RECORDER_SIGN_H

#include <stdbool.h>

struct recorder_sign {
    double newest; /* unix seconds: end of the newest record, by the clock of that machine */
    double gap;    /* seconds between the last two; 0: there is only one */
};

/* Reads the end of a usage.jsonl, of metron or of con-duct. False: there is no record in it. */
bool recorder_sign_read(const char *usage_path, struct recorder_sign *out);

#endif
