/*
 * Recordings of schema 1.0, which had no facts beside their sentences: no `bound`, no `outcome`, no `of` of a
 * stall, no topic of a key. They are made here of the sentences that metron wrote then and of the names of
 * its keys, as 1.1 has them; no other reader looks into a note, a cause or a name.
 */
#ifndef METRON_STORE_RECORDING_OLDER_H
#define METRON_STORE_RECORDING_OLDER_H

#include "store/recording/fields.h"

/* Adds to the list what a recording of this version lacks; needs the notes of headline and stall, the
 * shares of stall, and `cause`. */
void older_add_facts(struct field_list *list, const char *schema_version);
/* Topic and bound of a key whose recording does not name a topic that is known here. */
void older_describe_key(struct recorded_key *key);

#endif
