#include "view/report/events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "base/text.h"

/* Alive at one moment; more than this are followed no further. */
#define ALIVE_MAX 1000000
/* Different programs; what does not fit is summed up as others. */
#define PROGRAMS_MAX 10000
/* The busiest second is looked for in the first weeks of a run. */
#define SECONDS_MAX (64 * 86400)

struct alive {
    int64_t pid, parent;
    double born;
    bool has_started_compilers;
    struct report_command command;
    UT_hash_handle hh;
};

struct program {
    struct report_program sums;
    UT_hash_handle hh;
    char name[];
};

struct report_events_inner {
    const struct recording *recording;
    bool forks_keep_command; /* every new program is told: one without is its parent's */
    struct alive *alive;
    size_t command_bytes; /* that are kept of those */
    struct program *programs;
    uint32_t *seconds; /* births in each second of the run */
    size_t seconds_count, seconds_capacity;
};

/* As much of a text as there is room for, and no character in two; NULL is "". */
static void copy_text(char *out, size_t size, const char *text)
{
    size_t length = text ? text_cut(text, size - sizeof("…")) : 0;

    (void)snprintf(out, size, "%.*s%s", (int)length, text ? text : "", text && text[length] ? "…" : "");
}

char *report_program_name(const char *command, char out[REPORT_GROUP_TEXT_MAX])
{
    char quote = '\0';
    size_t used = 0;

    for (const char *at = command; *at && (quote || *at != ' '); at++) {
        if (quote ? *at == quote : *at == '\'' || *at == '"')
            quote = quote ? '\0' : *at;
        else if (*at == '/')
            used = 0; /* the last part of a path */
        else if (used + 1 < REPORT_GROUP_TEXT_MAX)
            out[used++] = *at;
    }
    out[used] = '\0';
    return out;
}

int report_events_init(struct report_events *events, const struct recording *recording)
{
    const char *seen_by = recording_text(recording, "provenance.processes_seen_by");

    *events = (struct report_events){.shortest.seconds = -1, .longest.seconds = -1, .lives_are_exact = true};
    events->failing = report_groups_new();
    events->failures = report_groups_new();
    events->kills = report_groups_new();
    events->signals = report_groups_new();
    events->inner = calloc(1, sizeof(*events->inner));
    if (!events->failing || !events->failures || !events->kills || !events->signals || !events->inner)
        return -ENOMEM;
    events->inner->recording = recording;
    events->inner->forks_keep_command = seen_by && strcmp(seen_by, "bpf") == 0;
    return 0;
}

static void alive_remove(struct report_events_inner *inner, struct alive *alive)
{
    HASH_DEL(inner->alive, alive);
    report_command_free(&alive->command, &inner->command_bytes);
    free(alive);
}

static void alive_free(struct alive *alive)
{
    report_command_free(&alive->command, NULL);
    free(alive);
}

static void commands_free(struct report_events *events)
{
    report_command_free(&events->shortest.command, NULL);
    report_command_free(&events->longest.command, NULL);
    for (int use = 0; use < REPORT_USE_COUNT; use++)
        for (size_t i = 0; i < events->top_counts[use]; i++)
            report_command_free(&events->tops[use][i].command, NULL);
    for (size_t i = 0; i < REPORT_NOTABLE_MAX; i++) {
        report_command_free(&events->ooms[i].command, NULL);
        report_command_free(&events->anomalies[i].command, NULL);
    }
}

void report_events_fini(struct report_events *events)
{
    commands_free(events);
    report_compilations_fini(&events->compilations);
    if (events->inner) {
        HASH_FREE_ALL(events->inner->alive, alive_free);
        HASH_FREE_ALL(events->inner->programs, free);
        free(events->inner->seconds);
        free(events->inner);
    }
    report_groups_free(events->failing);
    report_groups_free(events->failures);
    report_groups_free(events->kills);
    report_groups_free(events->signals);
    *events = (struct report_events){0};
}

static struct alive *alive_find(const struct report_events_inner *inner, int64_t pid)
{
    struct alive *alive = NULL;

    HASH_FIND(hh, inner->alive, &pid, sizeof(pid), alive);
    return alive;
}

/* The command of the event, else the known one of the process while it is alive; borrowed. */
static struct report_command command_of(const struct report_events *events,
                                        const struct recorded_event *event, int64_t pid)
{
    const struct alive *alive = event->command ? NULL : alive_find(events->inner, pid);

    return alive ? alive->command : (struct report_command){event->command, event->command_is_truncated};
}

/* Births by the second, to find the busiest. */
static void count_birth(struct report_events_inner *inner, double wall)
{
    double since = wall - inner->recording->start_wall;

    if (!(since > -1) || since >= SECONDS_MAX) /* not a number is none */
        return;
    size_t second = since > 0 ? (size_t)since : 0;
    if (ARRAY_RESERVE(inner->seconds, inner->seconds_capacity, second + 1) < 0)
        return;
    while (inner->seconds_count <= second)
        inner->seconds[inner->seconds_count++] = 0;
    inner->seconds[second]++;
}

/* A compiler was started, or has ended: its parent need not be counted (compilations.h). */
static void note_compiler(struct report_events_inner *inner, int64_t parent, const char *command)
{
    struct alive *alive = command && parent ? alive_find(inner, parent) : NULL;

    if (alive && !alive->has_started_compilers)
        alive->has_started_compilers = report_compilation_is_part(command);
}

/* It was seen before it executed a program of its own: its command is that of its parent. */
static bool has_command_of_parent(const struct report_events *events, const struct alive *alive,
                                  const char *command, const struct report_processes *processes)
{
    const struct alive *parent = alive ? alive_find(events->inner, alive->parent) : NULL;
    const struct report_process *sampled =
        parent && processes ? report_processes_find(processes, parent->pid, NULL) : NULL;
    const char *its_own = parent && parent->command.text ? parent->command.text
                          : sampled                      ? sampled->command.text
                                                         : NULL;

    return its_own && strcmp(its_own, command) == 0;
}

static void on_spawn(struct report_events *events, const struct recorded_event *event)
{
    struct report_events_inner *inner = events->inner;
    struct alive *alive = alive_find(inner, event->pid);
    struct report_command command = {event->command, event->command_is_truncated};

    events->spawned++;
    events->births_sampled += event->seen && strcmp(event->seen, "event") != 0;
    if (!events->root)
        events->root = event->pid;
    count_birth(inner, event->wall);
    if (alive)
        alive_remove(inner, alive); /* its end was missed */
    if (inner->forks_keep_command && event->ppid)
        command = command_of(events, event, event->ppid);
    if (HASH_COUNT(inner->alive) == ALIVE_MAX || !(alive = calloc(1, sizeof(*alive))))
        return;
    alive->pid = event->pid;
    alive->parent = event->ppid;
    alive->born = event->wall;
    report_command_keep(&alive->command, command, &inner->command_bytes);
    HASH_ADD(hh, inner->alive, pid, sizeof(alive->pid), alive);
    note_compiler(inner, alive->parent, event->command);
}

static double use_of(const struct report_end *end, enum report_use use)
{
    if (use == REPORT_USE_CPU)
        return end->cpu_seconds;
    return use == REPORT_USE_MEMORY ? end->max_rss : end->read_bytes + end->write_bytes;
}

static void keep_if_large(struct report_events *events, enum report_use use, const struct report_end *end)
{
    struct report_end *top = events->tops[use];
    size_t *count = &events->top_counts[use], at = *count;
    double amount = use_of(end, use);

    if (!(amount > 0))
        return;
    while (at > 0 && use_of(&top[at - 1], use) < amount)
        at--;
    if (at == REPORT_ENDS_MAX)
        return;
    if (*count == REPORT_ENDS_MAX)
        report_command_free(&top[REPORT_ENDS_MAX - 1].command, NULL);
    *count += *count < REPORT_ENDS_MAX;
    memmove(&top[at + 1], &top[at], (*count - at - 1) * sizeof(*top));
    top[at] = *end;
    top[at].command = (struct report_command){0};
    report_command_keep(&top[at].command, end->command, NULL);
}

static struct program *program_of(struct report_events_inner *inner, struct report_command command)
{
    char name[REPORT_GROUP_TEXT_MAX] = "";
    struct program *program = NULL;

    (void)report_program_name(command.text ? command.text : "", name);
    if (HASH_COUNT(inner->programs) >= PROGRAMS_MAX) {
        HASH_FIND(hh, inner->programs, name, strlen(name), program);
        if (program)
            return program;
        (void)snprintf(name, sizeof(name), "(other programs)");
    }
    HASH_FIND(hh, inner->programs, name, strlen(name), program);
    if (program || !(program = calloc(1, sizeof(*program) + strlen(name) + 1)))
        return program;
    memcpy(program->name, name, strlen(name) + 1);
    program->sums.name = program->name;
    HASH_ADD_KEYPTR(hh, inner->programs, program->name, strlen(program->name), program);
    return program;
}

static void count_in_program(struct report_events *events, const struct report_end *end, bool has_use,
                             bool failed)
{
    struct program *program = program_of(events->inner, end->command);
    struct report_program *sums = program ? &program->sums : NULL;

    if (!sums)
        return;
    sums->ended++;
    sums->failed += failed;
    if (!has_use)
        return;
    sums->with_use++;
    sums->cpu_seconds += end->cpu_seconds;
    sums->read_bytes += end->read_bytes;
    sums->write_bytes += end->write_bytes;
    sums->lifetime_seconds += end->lifetime_seconds;
    if (end->max_rss > sums->max_rss)
        sums->max_rss = end->max_rss;
}

static void time_life(struct report_events *events, const struct report_end *end, bool is_exact)
{
    struct report_life *const ends[] = {&events->shortest, &events->longest};

    if (end->lifetime_seconds < 0)
        return;
    events->lives_timed++;
    events->lives_are_exact &= is_exact;
    for (int i = 0; i < 2; i++) {
        bool further =
            i == 0 ? end->lifetime_seconds < ends[i]->seconds : end->lifetime_seconds > ends[i]->seconds;
        if (ends[i]->seconds >= 0 && !further)
            continue;
        ends[i]->seconds = end->lifetime_seconds;
        ends[i]->pid = end->pid;
        report_command_keep(&ends[i]->command, end->command, NULL);
    }
}

static void count_failure(struct report_events *events, const struct report_end *end)
{
    char program[REPORT_GROUP_TEXT_MAX];

    (void)report_program_name(end->command.text ? end->command.text : "", program);
    report_groups_count(events->failing, 0, NULL, program, end->command);
    report_groups_count(events->failures, end->exit_code, NULL, program, end->command);
    events->root_failed |= end->pid == events->root;
}

static void take_compilation(struct report_events *events, const struct recorded_event *event,
                             const struct report_end *end, const struct alive *alive,
                             const struct report_processes *processes)
{
    struct report_compilation one = {.pid = end->pid,
                                     .wall_seconds = end->lifetime_seconds,
                                     .cpu_seconds = event->has_use ? end->cpu_seconds : -1,
                                     .sampled_cpu_seconds = -1,
                                     .max_rss = end->max_rss,
                                     .command = end->command};

    if (!end->command.text || end->lifetime_seconds < 0)
        return;
    if (alive)
        note_compiler(events->inner, alive->parent, end->command.text);
    if (!report_compilation_counts(end->command.text, alive && alive->has_started_compilers) ||
        has_command_of_parent(events, alive, end->command.text, processes))
        return;
    const struct report_process *sampled =
        event->has_use || !processes ? NULL : report_processes_find(processes, event->pid, event->start_time);
    if (sampled)
        one.sampled_cpu_seconds = sampled->cpu_seconds;
    report_compilations_add(&events->compilations, &one);
}

static void on_exit_of(struct report_events *events, const struct recorded_event *event,
                       struct report_processes *processes)
{
    struct alive *alive = alive_find(events->inner, event->pid);
    struct report_end end = {.pid = event->pid,
                             .command = command_of(events, event, event->pid),
                             .lifetime_seconds = -1,
                             .has_exit_code = event->has_exit_code,
                             .exit_code = event->exit_code,
                             .signal_num = event->has_signal ? event->signal_num : 0};

    events->ended++;
    if (event->has_use) {
        end.cpu_seconds = event->cpu_seconds;
        end.max_rss = event->max_rss;
        end.read_bytes = event->read_bytes;
        end.write_bytes = event->write_bytes;
        end.lifetime_seconds = event->lifetime_seconds;
        events->with_use++;
        events->cpu_seconds += event->cpu_seconds;
        for (int use = 0; use < REPORT_USE_COUNT; use++)
            keep_if_large(events, (enum report_use)use, &end);
        if (processes)
            report_processes_told(processes, event->pid, event->start_time, event->max_rss > 0);
    } else if (alive && event->wall >= alive->born) {
        end.lifetime_seconds = event->wall - alive->born;
    }
    time_life(events, &end, event->has_use);
    take_compilation(events, event, &end, alive, processes);
    bool failed = (end.has_exit_code && end.exit_code != 0) || end.signal_num;
    if (end.has_exit_code && end.exit_code != 0)
        count_failure(events, &end);
    count_in_program(events, &end, event->has_use, failed);
    if (alive)
        alive_remove(events->inner, alive);
}

/* Who sent it, as people call him: "sh (pid 29250)" is one of many, so only the name. */
static const char *sender_of(const struct recorded_event *event)
{
    if (event->sender_name)
        return event->sender_name;
    return event->sender_pid == 0 ? "kernel" : NULL;
}

static void on_kill(struct report_events *events, const struct recorded_event *event, bool fatal)
{
    const struct report_command command = command_of(events, event, event->pid);
    const char *sender = sender_of(event);
    char program[REPORT_GROUP_TEXT_MAX];

    (void)report_program_name(command.text ? command.text : "", program);
    report_groups_count(fatal ? events->kills : events->signals, event->has_signal ? event->signal_num : 0,
                        sender, program, command);
    if (!fatal || event->pid != events->root || !sender)
        return;
    events->root_killer_is_told = true;
    events->root_killer = strcmp(sender, "kernel") == 0 ? 0 : event->sender_pid;
    (void)snprintf(events->root_killer_name, sizeof(events->root_killer_name), "%s", sender);
}

static void on_notable(struct report_events *events, const struct recorded_event *event,
                       struct report_notable *list, uint64_t *count)
{
    if (*count < REPORT_NOTABLE_MAX) {
        struct report_notable *notable = &list[*count];
        notable->wall = event->wall;
        notable->pid = event->pid;
        report_command_keep(&notable->command, command_of(events, event, event->pid), NULL);
        copy_text(notable->type, sizeof(notable->type), event->anomaly_type);
        copy_text(notable->severity, sizeof(notable->severity), event->severity);
        copy_text(notable->description, sizeof(notable->description), event->description);
    }
    ++*count;
}

void report_events_add(struct report_events *events, const struct recorded_event *event,
                       struct report_processes *processes)
{
    events->count++;
    if (!event->type)
        return;
    if (strcmp(event->type, "spawn") == 0)
        on_spawn(events, event);
    else if (strcmp(event->type, "exit") == 0)
        on_exit_of(events, event, processes);
    else if (strcmp(event->type, "kill") == 0)
        on_kill(events, event, true);
    else if (strcmp(event->type, "signal") == 0)
        on_kill(events, event, false);
    else if (strcmp(event->type, "oom") == 0)
        on_notable(events, event, events->ooms, &events->oom_count);
    else if (strcmp(event->type, "monitor.anomaly") == 0)
        on_notable(events, event, events->anomalies, &events->anomaly_count);
}

void report_events_end(struct report_events *events)
{
    for (size_t i = 0; i < events->inner->seconds_count; i++)
        if (events->inner->seconds[i] > events->spawn_rate_peak) {
            events->spawn_rate_peak = events->inner->seconds[i];
            events->spawn_rate_peak_at = (double)i;
        }
}

size_t report_programs_count(const struct report_events *events)
{
    return events->inner ? HASH_COUNT(events->inner->programs) : 0;
}

static bool is_larger(const struct report_program *a, const struct report_program *b)
{
    if (a->cpu_seconds != b->cpu_seconds)
        return a->cpu_seconds > b->cpu_seconds;
    return a->ended > b->ended;
}

size_t report_programs_top(const struct report_events *events, struct report_program *out, size_t limit)
{
    size_t count = 0;

    for (const struct program *program = events->inner ? events->inner->programs : NULL; program;
         program = program->hh.next) {
        size_t at = count;
        while (at > 0 && is_larger(&program->sums, &out[at - 1]))
            at--;
        if (at == limit)
            continue;
        count += count < limit;
        memmove(&out[at + 1], &out[at], (count - at - 1) * sizeof(*out));
        out[at] = program->sums;
    }
    return count;
}
