/*
 * A run without an info.json, or with an empty one: con-duct writes it at the end, so one that still runs or
 * was killed has none, and `-t processes-samples` of either tool leaves it out. What it would hold is made up
 * of the usage file, as the text of an info.json that recording_parse understands.
 */
#ifndef METRON_STORE_RECORDING_USAGE_ONLY_H
#define METRON_STORE_RECORDING_USAGE_ONLY_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "store/recording/reader.h"

/* In the made text: whose it is, by what its records look like ("metron" or "con-duct"). */
#define USAGE_ONLY_FIELD "usage_only"

/* Appends the made info.json of the run with this info.json, which need not be there. False: it has no usage
 * file with a record in it, and nothing was appended. */
bool usage_only_info(const char *info_path, key_describer *describe, struct strbuf *out);
/* The same from the bytes of a usage file, for tests and fuzzing. */
bool usage_only_info_of_bytes(const char *bytes, size_t length, key_describer *describe, struct strbuf *out);

#endif
