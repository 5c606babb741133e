/*
 * Choosing what a section shows: by what the registry of the recording says of a measure (unit, type, source,
 * a word in its name), so that a new source shows up by itself. And the tables made of what was chosen.
 */
#ifndef METRON_VIEW_REPORT_CHOOSE_H
#define METRON_VIEW_REPORT_CHOOSE_H

#include "view/report/measures.h"
#include "view/report/page.h"

typedef bool report_choice(const struct report_measure *measure);

/* Of the target, not of metron itself nor of the machine; means are left out. */
report_choice report_is_cpu, report_is_memory, report_is_moved, report_is_fault, report_is_switch;
/* Means as well: report_add_means puts them beside the peaks. */
report_choice report_is_speed;
report_choice report_is_stall; /* of the machine too */

/* Three columns: the value, the key, and where it was read. */
struct report_item *report_add_measures(struct report_section *section,
                                        const struct report_measures *measures, const char *name,
                                        const struct report_column columns[3], report_choice *choose);
/* Three columns: the mean, the peak, and the key. */
struct report_item *report_add_means(struct report_section *section, const struct report_measures *measures,
                                     const char *name, const struct report_column columns[3],
                                     report_choice *choose);
/* Fields of con-duct's summary, under their own names: those of `unit` with `part` in their name. */
void report_add_duct_fields(struct report_section *section, const struct recording *recording,
                            const char *part, enum unit unit);

#endif
