#include "view/plot/subjects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* More are not told apart: the count then stays. */
#define SEEN_MAX     ((size_t)1 << 20)
#define SEEN_FIRST   ((size_t)1 << 8)
#define COMMAND_MAX  ((size_t)4096)
#define HASH_INITIAL UINT64_C(14695981039346656037)
#define HASH_PRIME   UINT64_C(1099511628211)

int plot_subjects_init(struct plot_subjects *subjects, bool by_integral)
{
    *subjects = (struct plot_subjects){.by_integral = by_integral, .seen_room = SEEN_FIRST};
    subjects->followed = calloc(PLOT_SUBJECTS_FOLLOWED, sizeof(*subjects->followed));
    subjects->seen = calloc(SEEN_FIRST, sizeof(*subjects->seen));
    return subjects->followed && subjects->seen ? 0 : -ENOMEM;
}

void plot_subjects_fini(struct plot_subjects *subjects)
{
    for (size_t i = 0; i < subjects->count; i++) {
        free(subjects->followed[i].command);
        plot_series_fini(&subjects->followed[i].series);
    }
    free(subjects->followed);
    free(subjects->seen);
    *subjects = (struct plot_subjects){0};
}

/* FNV-1a; never 0, which marks a free place. */
static uint64_t hash_of(const char *name)
{
    uint64_t hash = HASH_INITIAL;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * HASH_PRIME;
    return hash ? hash : 1;
}

static bool put_hash(uint64_t *places, size_t room, uint64_t hash)
{
    size_t at = (size_t)(hash ^ hash >> 32) & (room - 1);

    while (places[at] && places[at] != hash)
        at = (at + 1) & (room - 1);
    const bool is_new = !places[at];
    places[at] = hash;
    return is_new;
}

static int remember(struct plot_subjects *subjects, uint64_t hash)
{
    if (subjects->seen_count >= SEEN_MAX)
        return 0;
    if (2 * subjects->seen_count >= subjects->seen_room) {
        uint64_t *larger = calloc(2 * subjects->seen_room, sizeof(*larger));
        if (!larger)
            return -ENOMEM;
        for (size_t i = 0; i < subjects->seen_room; i++)
            if (subjects->seen[i])
                (void)put_hash(larger, 2 * subjects->seen_room, subjects->seen[i]);
        free(subjects->seen);
        subjects->seen = larger;
        subjects->seen_room *= 2;
    }
    subjects->seen_count += put_hash(subjects->seen, subjects->seen_room, hash);
    return 0;
}

/* Records list processes in the same order again and again: the next one is the likely one. */
static struct plot_subject *find(struct plot_subjects *subjects, uint64_t hash)
{
    for (size_t i = 1; i <= subjects->count; i++) {
        const size_t at = (subjects->last + i) % subjects->count;
        if (subjects->followed[at].hash == hash) {
            subjects->last = at;
            return &subjects->followed[at];
        }
    }
    return NULL;
}

static struct plot_subject *take_place(struct plot_subjects *subjects, double value)
{
    struct plot_subject *smallest = &subjects->followed[0];

    if (subjects->count < PLOT_SUBJECTS_FOLLOWED)
        return &subjects->followed[subjects->count++];
    for (size_t i = 1; i < subjects->count; i++)
        if (subjects->followed[i].rank < smallest->rank)
            smallest = &subjects->followed[i];
    /* A level that is lower than all others' highest is not among the largest now. What is used adds up, so
     * a small beginning tells nothing: it inherits the rank of the one that goes, as if it had used that, and
     * whoever uses most cannot be kept out. */
    if (!subjects->by_integral && value <= smallest->rank)
        return NULL;
    free(smallest->command);
    smallest->command = NULL;
    plot_series_fini(&smallest->series);
    return smallest;
}

int plot_subjects_add(struct plot_subjects *subjects, const char *name, double begin, double end,
                      double value)
{
    const uint64_t hash = hash_of(name);
    struct plot_subject *subject = find(subjects, hash);

    if (!subject) {
        if (remember(subjects, hash) < 0)
            return -ENOMEM;
        subject = take_place(subjects, value);
        if (!subject)
            return 0;
        subject->hash = hash;
        (void)strncpy(subject->name, name, sizeof(subject->name) - 1);
        subject->name[sizeof(subject->name) - 1] = '\0';
        if (!subjects->by_integral)
            subject->rank = value;
        plot_series_init(&subject->series, PLOT_SUBJECT_SEGMENTS, subjects->hold);
    }
    if (subjects->by_integral)
        subject->rank += value * (end - begin);
    else if (value > subject->rank)
        subject->rank = value;
    return plot_series_add(&subject->series, begin, end, value);
}

void plot_subjects_name(struct plot_subjects *subjects, const char *name, const char *command)
{
    struct plot_subject *subject = find(subjects, hash_of(name));

    if (subject && !subject->command)
        subject->command = strndup(command, text_cut(command, COMMAND_MAX));
}

static int larger_first(const void *a, const void *b)
{
    const struct plot_subject *left = a, *right = b;

    if (left->rank != right->rank)
        return left->rank < right->rank ? 1 : -1;
    return strcmp(left->name, right->name);
}

void plot_subjects_sort(struct plot_subjects *subjects)
{
    for (size_t i = 0; i < subjects->count; i++) {
        const struct plot_series *series = &subjects->followed[i].series;
        subjects->followed[i].rank = subjects->by_integral ? series->integral : series->high;
    }
    qsort(subjects->followed, subjects->count, sizeof(*subjects->followed), larger_first);
}
