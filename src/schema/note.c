#include "schema/note.h"

#include <stdio.h>
#include <string.h>

static const char *const bound_names[] = {NULL, "lower", "upper", "estimate"};

const char *bound_name(enum bound bound)
{
    return bound_names[bound & 3];
}

enum bound bound_named(const char *name)
{
    int bound = name ? BOUND_ABOUT : BOUND_NONE;

    while (bound > BOUND_NONE && strcmp(name, bound_names[bound]) != 0)
        bound--;
    return (enum bound)bound;
}

#define SHARED_PAGES "upper bound of what was sampled: shared pages are counted once per process"
#define SEVERAL      "several may have held more at once"

const struct note note_sampled = {BOUND_NONE, "sampled"};
const struct note note_since_attached = {BOUND_NONE, "since metron attached"};
const struct note note_largest_process = {BOUND_LOWER, "largest single process; " SEVERAL};
const struct note note_shared_pages = {BOUND_UPPER, SHARED_PAGES};
const struct note note_shares_unread = {BOUND_UPPER,
                                        SHARED_PAGES ", and their shares could not be read at the peak"};
const struct note note_others_in_group = {
    BOUND_UPPER, "upper bound of what was sampled: whoever else is in its group is counted as well"};
const struct note note_page_cache = {BOUND_UPPER, NULL}; /* its name, upper_bound, says enough */

const struct note note_with_living = {BOUND_NONE, "with what living processes had used"};
const struct note note_left_group = {BOUND_NONE, "some of its processes left its control group"};
const struct note note_ended_unseen = {BOUND_LOWER,
                                       "not conserved: what ended unseen and was not inherited is missing"};
const struct note note_ignored_sigchld = {
    BOUND_LOWER, "not conserved: a process ignored SIGCHLD, and the kernel drops the CPU of its children"};

struct note note_dropped_by_kernel(double seconds, char text[NOTE_TEXT_SIZE])
{
    (void)snprintf(text, NOTE_TEXT_SIZE,
                   "not conserved: at least %.2f s of CPU were dropped by the kernel with the processes that "
                   "had used them",
                   seconds);
    return (struct note){BOUND_LOWER, text};
}

const struct note note_spawns_unseen = {BOUND_LOWER, "lower bound"};
const struct note note_with_found = {BOUND_NONE, "with those that ran already"};
const struct note note_with_found_unseen = {BOUND_LOWER, "lower bound, with those that ran already"};

const struct note note_of_targets_group = {BOUND_NONE, "of the group that its processes are in"};
const struct note note_of_metrons_group = {BOUND_NONE, "of the group metron was started in"};
const struct note note_of_machine = {BOUND_NONE, "of the whole machine"};

const char *note_until_now(struct arena *arena, const char *note, bool is_lost)
{
    const char *until = is_lost ? "up to its last record" : "so far";
    const int clause = note ? (int)strcspn(note, ";:") : 0;

    if (!note)
        return is_lost ? until : "so far; up to its newest record";
    return arena_printf(arena, "%.*s %s%s", clause, note, until, note + clause);
}
