/* What this metron knows of the keys of a recording without an info.json. */
#ifndef METRON_CMD_KNOWN_KEYS_H
#define METRON_CMD_KNOWN_KEYS_H

#include "base/json.h"

/* A key_describer of store/recording/reader.h. */
void describe_known_key(struct json *json, const char *key);

#endif
