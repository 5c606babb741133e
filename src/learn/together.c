/* The starts and ends of all runs in one list, job by job in the order of time, with a running sum. */
#include "learn/together.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct edge {
    double wall;
    const struct past_run *run;
    bool is_start;
};

static int compare_texts(const char *a, const char *b)
{
    if (!a || !b)
        return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

static int compare_jobs(const struct past_run *a, const struct past_run *b)
{
    int order = compare_texts(a->job, b->job);

    return order ? order : compare_texts(a->batch, b->batch);
}

/* An end stands before a start at the same moment: one after the other is not together. */
static int compare_edges(const void *a, const void *b)
{
    const struct edge *one = a, *other = b;
    int order = compare_jobs(one->run, other->run);

    if (order == 0 && one->wall != other->wall)
        order = one->wall < other->wall ? -1 : 1;
    return order ? order : (int)one->is_start - (int)other->is_start;
}

static size_t gather_edges(const struct past_run *runs, size_t count, struct edge *edges)
{
    size_t gathered = 0;

    for (size_t i = 0; i < count; i++) {
        const struct past_run *run = &runs[i];

        if (!run->job || !run->job[0] || run->start_wall <= 0 || !(run->wall_seconds > 0) ||
            run->end == PAST_NOT_STARTED)
            continue;
        edges[gathered++] = (struct edge){run->start_wall, run, true};
        edges[gathered++] = (struct edge){run->start_wall + run->wall_seconds, run, false};
    }
    return gathered;
}

static void step(struct together *now, const struct edge *edge)
{
    const struct past_run *run = edge->run;
    double sign = edge->is_start ? 1 : -1;

    now->runs = edge->is_start ? now->runs + 1 : now->runs - 1;
    if (!isnan(run->memory_bytes))
        now->memory_bytes += sign * run->memory_bytes;
    if (!isnan(run->cpu_seconds))
        now->cpus += sign * run->cpu_seconds / run->wall_seconds;
}

int together_find(const struct past_run *runs, size_t count, struct together *out)
{
    struct edge *edges = calloc(2 * count + 1, sizeof(*edges));
    struct together now = {0};

    *out = (struct together){0};
    if (!edges)
        return -ENOMEM;
    size_t edge_count = gather_edges(runs, count, edges);
    qsort(edges, edge_count, sizeof(*edges), compare_edges);
    for (size_t i = 0; i < edge_count; i++) {
        if (i > 0 && compare_jobs(edges[i - 1].run, edges[i].run) != 0)
            now = (struct together){0}; /* no trace of the sums before */
        step(&now, &edges[i]);
        if (now.runs > out->runs || (now.runs == out->runs && now.memory_bytes > out->memory_bytes)) {
            *out = now;
            out->job = edges[i].run->job;
        }
    }
    free(edges);
    return 0;
}
