/*
 * What the words of an info.json mean: whose it is, the units of its fields, the aliases. Called by
 * recording_parse once everything that is wanted stands in the list.
 */
#ifndef METRON_STORE_RECORDING_WORDS_H
#define METRON_STORE_RECORDING_WORDS_H

#include "base/error.h"
#include "store/recording/fields.h"
#include "store/recording/reader.h"

/* The fields that these functions need, whatever is wished; NULL-terminated. */
extern const char *const recording_facts[];

/* Whose it is and whether its schema is known: -EBADMSG, -ENOTSUP. */
int recording_recognize(struct recording *recording, const struct field_list *list,
                        struct metron_error *error);
/* Whether it has no end yet, by its own word: it runs, or is lost. */
bool recording_says_running(const struct field_list *list);
/* Status, start, and the aliases, which are added to the list. */
void recording_conclude(struct recording *recording, struct field_list *list,
                        const struct recording_wish *wish);
/* Units and notes of all that stands in the list, as far as they are known. */
void recording_label(const struct recording *recording, struct field_list *list);
/* The list moves into the recording, as far as it was wished. -ENOMEM, or -EFBIG. */
int recording_keep(struct recording *recording, const struct field_list *list, const struct field_wish *wish,
                   struct metron_error *error);

#endif
