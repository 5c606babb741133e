/*
 * What to know about a number: how it stands to what it is called, which is data, and why, as a text for
 * people, which no program reads.
 *
 * All texts are in note.c and not in view/, because info.json and the fields of a run that still runs hold
 * them too, and the rooms that write those (loop/, store/) may not include view/.
 */
#ifndef METRON_SCHEMA_NOTE_H
#define METRON_SCHEMA_NOTE_H

#include <stdbool.h>

#include "base/arena.h"

/* The number is what its source counted or sampled; at least, at most, or about as much as it is called. */
enum bound { BOUND_NONE = 0, BOUND_LOWER = 1, BOUND_UPPER = 2, BOUND_ABOUT = 3 };

const char *bound_name(enum bound bound); /* "lower", "upper", "estimate"; NULL: none */
enum bound bound_named(const char *name); /* BOUND_NONE of NULL, and of a name that is not known */

struct note {
    enum bound bound;
    const char *text; /* NULL: nothing to say */
};

/* Of a peak of memory. */
extern const struct note note_sampled, note_since_attached, note_largest_process, note_shared_pages,
    note_shares_unread, note_others_in_group, note_page_cache;
/* Of CPU. */
extern const struct note note_with_living, note_left_group, note_ended_unseen, note_ignored_sigchld;
#define NOTE_TEXT_SIZE 160
struct note note_dropped_by_kernel(double seconds, char text[NOTE_TEXT_SIZE]);
/* Of the number of processes. */
extern const struct note note_spawns_unseen, note_with_found, note_with_found_unseen;
/* Of a stall that is not the target's own. */
extern const struct note note_of_targets_group, note_of_metrons_group, note_of_machine;
/* The text of a note (NULL: none) where the run still runs, or is lost and was recorded up to some moment.
 * NULL: out of memory. */
const char *note_until_now(struct arena *arena, const char *note, bool is_lost);

#endif
