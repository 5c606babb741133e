/*
 * Recordings of schema 1.0, which had no facts beside their sentences: no `bound`, no `outcome`, no `of` of a
 * stall. They are made here of the sentences that metron wrote then, as the fields that 1.1 has; no other
 * reader looks into a note or a cause.
 */
#ifndef METRON_STORE_RECORDING_OLDER_H
#define METRON_STORE_RECORDING_OLDER_H

#include "store/recording/fields.h"

/* Adds to the list what a recording of this version lacks; needs the notes of headline and stall, and
 * `cause`.
 */
void older_add_facts(struct field_list *list, const char *schema_version);

#endif
