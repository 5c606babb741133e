/* What the parser (filter.c) hands to the evaluation (holds.c). */
#ifndef METRON_STORE_FILTER_INNER_H
#define METRON_STORE_FILTER_INNER_H

#include <regex.h>
#include <stdbool.h>

#include "base/arena.h"
#include "store/filter/filter.h"
#include "store/quantity.h"
#include "store/relation.h"

/* An instant, a minute or a day. */
struct filter_time {
    double begin, end; /* unix seconds, the end excluded */
};

/* What a field is compared with: always as text, and as whatever else it can be read as. */
struct filter_value {
    const char *text;
    size_t place;
    bool is_quantity, is_time;
    bool quoted;
    struct quantity quantity;
    struct filter_time time;
};

enum filter_kind { FILTER_OR, FILTER_AND, FILTER_NOT, FILTER_FIELD, FILTER_COMPARISON };

struct filter_node {
    enum filter_kind kind;
    size_t left, right; /* indexes; of FILTER_NOT only left */
    const char *field;
    enum relation relation; /* of a match: equal, or different for !~ */
    struct filter_value value;
    regex_t *regex; /* of a match; else NULL */
};

struct filter {
    struct arena arena;
    struct filter_node nodes[FILTER_NODES_MAX];
    size_t count;
    size_t root;
    const char *fields[FILTER_NODES_MAX + 1];
    size_t field_count;
};

/* "2026-11-15", "2026-11-15T07:42", "2026-11-15 07:42:53.5Z", "…+01:00": the whole text. */
bool filter_time_parse(const char *text, struct filter_time *out);

/* Why a regular expression may not be compiled (static text), or NULL. */
const char *filter_regex_trouble(const char *text);

/* What a recording is sure to have in a field of some name, for errors before any is read. */
struct filter_known {
    enum field_kind kind;
    enum unit unit;
    bool is_time;
    const char *words; /* all that a text can be, separated by ", "; NULL: anything */
};
/* False: that is not known before. */
bool filter_known_field(const char *field, struct filter_known *out);
/* Whether a word is one of a list that is separated by commas and blanks. */
bool filter_is_word_of(const char *words, const char *word);

/* Whether a field of this kind and unit can be compared as the node asks, which is no match: 0 or -EINVAL.
 * `is_time`: it is an instant. */
int filter_check(const struct filter_node *node, enum field_kind kind, enum unit unit, bool is_time,
                 struct metron_error *error);

#endif
