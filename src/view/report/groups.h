/*
 * Counting what is alike: by a number (an exit code, a signal) and two texts (who, whom), with the first
 * command as an example. The number of different ones is limited; what does not fit is only counted.
 */
#ifndef METRON_VIEW_REPORT_GROUPS_H
#define METRON_VIEW_REPORT_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#define REPORT_GROUPS_MAX        10000
#define REPORT_GROUP_TEXT_MAX    128 /* bytes of a text that are looked at */
#define REPORT_GROUP_COMMAND_MAX 255 /* bytes of a command that are kept */

struct report_group {
    uint64_t count;
    int number;
    const char *who, *whom; /* "" if not told */
    const char *first;      /* the command it began with, cut; "" if not told */
};

struct report_groups;

struct report_groups *report_groups_new(void); /* NULL for want of memory */
void report_groups_free(struct report_groups *groups);
/* The texts may be NULL. */
void report_groups_count(struct report_groups *groups, int number, const char *who, const char *whom,
                         const char *command);
uint64_t report_groups_total(const struct report_groups *groups);
size_t report_groups_size(const struct report_groups *groups); /* how many different ones */
/* The `limit` most frequent about one `whom` (NULL: about anybody), the first come first among equals;
 * returns how many. */
size_t report_groups_top(const struct report_groups *groups, const char *whom, struct report_group *out,
                         size_t limit);

#endif
