/*
 * Commands that a report keeps: whole as a rule. Where a recording has so many long ones that they would take
 * tens of megabytes, those that follow are cut short; what is cut ends with … and is marked.
 */
#ifndef METRON_VIEW_REPORT_COMMANDS_H
#define METRON_VIEW_REPORT_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

#include "view/report/page.h"

#define REPORT_COMMAND_BYTES  65536                  /* of each: more than metron records */
#define REPORT_COMMAND_SHORT  255                    /* of each, once */
#define REPORT_COMMANDS_BYTES ((size_t)32 * 1048576) /* are kept in one place */

struct report_command {
    const char *text;  /* NULL: unknown */
    bool is_truncated; /* it ends with … */
};

/* Makes `command` own a copy of `from`, which may be what it owns already; out of memory it is unknown.
 * `kept`: the bytes that are kept in this place; NULL: only a few are. */
void report_command_keep(struct report_command *command, struct report_command from, size_t *kept);
/* A command of a sample, which has no mark: a long one that ends with … was cut when it was recorded. */
struct report_command report_command_sampled(const char *text);
void report_command_free(struct report_command *command, size_t *kept);

/* Two columns of a table, of which the second is for programs, and the two cells below them. */
#define REPORT_COMMAND_COLUMNS(TITLE, SOURCE, FIT)                                                           \
    {"command", (TITLE), UNIT_NONE, (SOURCE), (FIT)},                                                        \
    {                                                                                                        \
        "command_truncated", NULL, UNIT_NONE, NULL, REPORT_CUT                                               \
    }
void report_command_cells(struct report_value cells[2], struct report_command command);

#endif
