/*
 * Which columns a listing has: the usual ones, those of a group, or named ones. For people (`table`) and for
 * programs they differ: a person reads one column where a program wants the status and the exit code.
 */
#ifndef METRON_VIEW_LIST_COLUMNS_H
#define METRON_VIEW_LIST_COLUMNS_H

#include <stdbool.h>

#include "view/list/listing.h"

/* All return 0 or -ENOMEM; names are borrowed. */
int run_columns_add_usual(struct run_listing *listing, bool table);
/* What is told of the runs of a group; the field they share comes first. */
int run_columns_add_group(struct run_listing *listing, const char *field, bool table);
/* One that a person named. In a group `sum_FIELD`, `max_FIELD`, `min_FIELD`, `runs` and `failed` are folds,
 * and a plain field is what all its runs share. */
int run_columns_add_named(struct run_listing *listing, const char *name, bool grouped, bool table,
                          bool hidden);

/* Whether it is a field that recordings have by their schema, be it measured or not. */
bool run_columns_knows(const char *field);
/* The names of the usual fields, ended by NULL. */
const char *const *run_columns_usual_fields(void);
/* The usual columns that nobody misses if no row has a value are hidden: those that a narrow screen leaves
 * out, and the command of groups. */
void run_columns_hide_empty(struct run_listing *listing);

#endif
