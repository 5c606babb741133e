/*
 * Counting what is alike: by a number (an exit code, a signal) and two texts (who, whom), with the first
 * command as an example. The number of different ones is limited; what does not fit is only counted.
 */
#ifndef METRON_VIEW_REPORT_GROUPS_H
#define METRON_VIEW_REPORT_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "view/report/commands.h"

#define REPORT_GROUPS_MAX     10000
#define REPORT_GROUP_TEXT_MAX 128 /* bytes of a text that count */

struct report_group {
    uint64_t count;
    int number;
    const char *who, *whom;      /* "" if not told */
    struct report_command first; /* the command it began with */
};

struct report_groups;

struct report_groups *report_groups_new(void); /* NULL for want of memory */
void report_groups_free(struct report_groups *groups);
/* The texts may be NULL. */
void report_groups_count(struct report_groups *groups, int number, const char *who, const char *whom,
                         struct report_command command);
uint64_t report_groups_total(const struct report_groups *groups);
size_t report_groups_size(const struct report_groups *groups); /* how many different ones */
/* The `limit` most frequent about one `whom` (NULL: about anybody), the first come first among equals;
 * returns how many. */
size_t report_groups_top(const struct report_groups *groups, const char *whom, struct report_group *out,
                         size_t limit);

#endif
