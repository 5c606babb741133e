/* Summaries made up of known values, for the tests of the headline. */
#ifndef METRON_TESTS_HEADLINE_FIXTURE_H
#define METRON_TESTS_HEADLINE_FIXTURE_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reduce/headline.h"

static const struct measurement number = {.key = "t_any", .type = TYPE_GAUGE, .unit = UNIT_BYTES};
static const struct measurement share = {.key = "t_share", .type = TYPE_COUNTER, .unit = UNIT_PERCENT};

struct known {
    const char *key;
    double value; /* as inside: a share of 1, not percent */
};

#define KNOWN_MAX 16

static struct record_value values[KNOWN_MAX];
static struct record_entry entries[KNOWN_MAX];

static inline struct record summary_of(const struct known *known, size_t count)
{
    assert_in_range(count, 0, KNOWN_MAX);
    for (size_t i = 0; i < count; i++) {
        bool percent = strstr(known[i].key, "_pct") != NULL;
        values[i] = (struct record_value){.number = known[i].value};
        entries[i] = (struct record_entry){
            .key = known[i].key, .measurement = percent ? &share : &number, .values = &values[i], .count = 1};
    }
    return (struct record){.entries = entries, .count = count};
}

__attribute__((unused)) static const struct headline_method_facts exact = {.spawned_is_exact = true};
__attribute__((unused)) static const struct headline_method_facts inexact = {0};
__attribute__((unused)) static const struct headline_method_facts own_group = {.spawned_is_exact = true,
                                                                               .own_cgroup = true};

static inline struct headline headline_from(const struct known *known, size_t count,
                                            const struct headline_method_facts *facts)
{
    struct record summary = summary_of(known, count);

    return headline_of(&summary, facts);
}

#define COUNT(ARRAY)           (sizeof(ARRAY) / sizeof((ARRAY)[0]))
#define HEADLINE(KNOWN, FACTS) headline_from((KNOWN), COUNT(KNOWN), (FACTS))

/* `note`: a part of it; NULL: there must be none. */
static inline void answer_is(const struct headline_answer *answer, double value, const char *source,
                             const char *note)
{
    assert_true(answer->has);
    assert_string_equal(answer->source, source);
    assert_true(fabs(answer->value - value) < 1e-9);
    if (!note)
        assert_null(answer->note.text);
    else if (!answer->note.text || !strstr(answer->note.text, note))
        fail_msg("%s: '%s' does not say '%s'", source, answer->note.text ? answer->note.text : "(nothing)",
                 note);
}

#endif
