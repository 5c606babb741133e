#include "reduce/statistic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void statistic_fold(struct statistic *statistic, enum reduce reduce, double number, double seconds)
{
    switch (reduce) {
    case REDUCE_MAX:
        if (!statistic->has || number > statistic->value)
            statistic->value = number;
        break;
    case REDUCE_MIN:
        if (!statistic->has || number < statistic->value)
            statistic->value = number;
        break;
    case REDUCE_LAST:
        statistic->value = number;
        break;
    case REDUCE_DELTA:
        statistic->value += number;
        break;
    case REDUCE_TALLY:
        return;
    }
    statistic->has = true;
    statistic_fold_mean(statistic, number * seconds, seconds);
}

void statistic_fold_mean(struct statistic *statistic, double amount, double seconds)
{
    statistic->weighted += amount;
    statistic->weight += seconds;
}

bool statistic_take_rate(struct statistic *statistic, double amount, double seconds, double least_seconds,
                         double *rate)
{
    statistic->waiting.amount += amount;
    statistic->waiting.seconds += seconds;
    if (!(statistic->waiting.seconds > 0) || statistic->waiting.seconds < least_seconds)
        return false;
    *rate = statistic->waiting.amount / statistic->waiting.seconds;
    statistic_drop_rate(statistic);
    return true;
}

void statistic_drop_rate(struct statistic *statistic)
{
    statistic->waiting.amount = statistic->waiting.seconds = 0;
}

int statistic_fold_text(struct statistic *statistic, const char *text)
{
    if (!statistic->text || strcmp(statistic->text, text) != 0) {
        char *copy = strdup(text);
        if (!copy)
            return -ENOMEM;
        free(statistic->text);
        statistic->text = copy;
    }
    statistic->has = true;
    return 0;
}

int statistic_fold_state(struct statistic *statistic, struct state_names *names, const char *state)
{
    int code = tally_add(&statistic->tally, names, state, 1);
    if (code == 0)
        statistic->has = true;
    return code;
}

int statistic_fold_amounts(struct statistic *statistic, struct statistic *run, struct state_names *names,
                           const struct amounts *amounts, bool seed)
{
    bool grew = false;
    int code = tally_take(&statistic->tally, run ? &run->tally : NULL, names, amounts, seed, &grew);

    statistic->has = statistic->has || grew;
    if (run)
        run->has = run->has || grew;
    return code;
}

double statistic_mean(const struct statistic *statistic)
{
    return statistic->weight > 0 ? statistic->weighted / statistic->weight : statistic->value;
}

int statistic_value(const struct statistic *statistic, enum type type, struct arena *arena,
                    struct record_value *out)
{
    switch (type) {
    case TYPE_LABEL:
        out->text = arena_strdup(arena, statistic->text);
        return out->text ? 0 : -ENOMEM;
    case TYPE_CATEGORICAL:
        return tally_value(statistic->tally, arena, out);
    case TYPE_GAUGE:
    case TYPE_COUNTER:
        break;
    }
    out->number = statistic->value;
    return 0;
}

void statistic_reset(struct statistic *statistic, enum type type)
{
    if (type == TYPE_CATEGORICAL)
        tally_reset(statistic->tally);
    statistic->value = statistic->weighted = statistic->weight = 0;
    statistic->has = statistic->fell = false;
}

void statistic_fini(struct statistic *statistic, enum type type)
{
    if (type == TYPE_LABEL)
        free(statistic->text);
    else if (type == TYPE_CATEGORICAL)
        free(statistic->tally);
    *statistic = (struct statistic){0};
}
