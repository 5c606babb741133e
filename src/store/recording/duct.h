/*
 * The words of con-duct (schema 0.2.x): what its records and its summary hold, in which unit, and what one
 * has to know about them.
 */
#ifndef METRON_STORE_RECORDING_DUCT_H
#define METRON_STORE_RECORDING_DUCT_H

#include "schema/recording.h"

/* Places in duct_keys. */
enum duct_key {
    /* of each process */
    DUCT_PCPU,
    DUCT_PMEM,
    DUCT_RSS,
    DUCT_VSZ,
    DUCT_ETIME,
    DUCT_STAT,
    DUCT_CMD,
    /* of all together */
    DUCT_TOTAL_PCPU,
    DUCT_TOTAL_PMEM,
    DUCT_TOTAL_RSS,
    DUCT_TOTAL_VSZ,
    DUCT_AVERAGE_PCPU,
    DUCT_AVERAGE_PMEM,
    DUCT_AVERAGE_RSS,
    DUCT_AVERAGE_VSZ,
    /* derived by the reader */
    DUCT_PCPU_RATE,
    DUCT_PCPU_SECONDS,
    DUCT_TOTAL_PCPU_RATE,
    DUCT_KEY_COUNT,
};

extern const struct recorded_key duct_keys[DUCT_KEY_COUNT];

/* The unit and the note (NULL: none) of a field of its summary; false: it is none of those. */
bool duct_field_words(const char *name, enum unit *unit, const char **note);
/* What peak_memory is for con-duct. */
extern const char duct_peak_note[];

#endif
