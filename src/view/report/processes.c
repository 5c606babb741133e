#include "view/report/processes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_table.h"

struct entry {
    struct report_process process; /* its texts are owned */
    UT_hash_handle hh;
    double window_rate, window_age;
    uint64_t rate_window, age_window; /* of which record they are; 0: none */
    bool use_told, rss_told;
};

struct report_processes {
    const struct recording *recording;
    struct report_process_keys keys;
    const struct recorded_key *command, *start, *age; /* NULL: none */
    int *slots; /* of each key of the recording: its place in `keys`, or -1; owned */
    struct entry *map;
    bool more;
    uint64_t window;
    size_t command_bytes; /* that are kept */
};

/* What a key of single processes speaks of; REPORT_USE_COUNT: of nothing that is ranked. */
static enum report_use use_of(const struct recorded_key *key)
{
    if (key->topic == TOPIC_CPU)
        return REPORT_USE_CPU;
    if (key->unit != UNIT_BYTES)
        return REPORT_USE_COUNT;
    if (key->topic == TOPIC_MEMORY || key->topic == TOPIC_MEMORY_MARK)
        return REPORT_USE_MEMORY;
    return topic_group(key->topic) == TOPIC_IO ? REPORT_USE_IO : REPORT_USE_COUNT;
}

/* The first of a topic. */
static void choose(const struct recorded_key **chosen, const struct recorded_key *key, enum topic topic)
{
    if (key->topic == topic && !*chosen)
        *chosen = key;
}

static void choose_keys(struct report_processes *processes)
{
    const struct recording *recording = processes->recording;
    struct report_process_keys *keys = &processes->keys;

    for (size_t i = 0; i < recording->key_count; i++) {
        const struct recorded_key *key = &recording->keys[i];
        processes->slots[i] = -1;
        if (key->scope != SCOPE_PER_PID)
            continue;
        choose(&processes->command, key, TOPIC_PROCESS_COMMAND);
        choose(&processes->start, key, TOPIC_PROCESS_START);
        choose(&processes->age, key, TOPIC_PROCESS_AGE);
        enum report_use use = use_of(key);
        /* What the kernel told at the end of a process is in the events, with its command. */
        if (recording->events_path && strcmp(key->source, "exit") == 0)
            continue;
        if (use == REPORT_USE_COUNT || keys->count == REPORT_PROCESS_KEYS_MAX)
            continue;
        /* con-duct's pcpu is no rate: it is an average over the life of the process. */
        if (key->type == TYPE_COUNTER)
            choose(key->reduce == REDUCE_DELTA ? &keys->counted : &keys->rate, key, TOPIC_CPU);
        processes->slots[i] = (int)keys->count;
        keys->items[keys->count].key = key;
        keys->items[keys->count++].use = use;
    }
}

struct report_processes *report_processes_new(const struct recording *recording)
{
    struct report_processes *processes = calloc(1, sizeof(*processes));

    if (!processes)
        return NULL;
    processes->recording = recording;
    processes->slots = calloc(recording->key_count + 1, sizeof(*processes->slots));
    if (!processes->slots) {
        free(processes);
        return NULL;
    }
    choose_keys(processes);
    return processes;
}

static void entry_free(struct entry *entry)
{
    free((char *)entry->process.subject);
    free((char *)entry->process.start_time);
    report_command_free(&entry->process.command, NULL);
    free(entry);
}

void report_processes_free(struct report_processes *processes)
{
    if (!processes)
        return;
    HASH_FREE_ALL(processes->map, entry_free);
    free(processes->slots);
    free(processes);
}

void report_processes_want(const struct report_processes *processes, bool *wanted)
{
    for (size_t i = 0; i < processes->recording->key_count; i++) {
        const struct recorded_key *key = &processes->recording->keys[i];
        wanted[i] |= processes->slots[i] >= 0 || key == processes->command || key == processes->start ||
                     key == processes->age;
    }
}

static struct entry *find(const struct report_processes *processes, const char *subject)
{
    struct entry *entry = NULL;

    HASH_FIND(hh, processes->map, subject, strlen(subject), entry);
    return entry;
}

static struct entry *find_or_add(struct report_processes *processes, const char *subject)
{
    struct entry *entry = find(processes, subject);

    if (entry)
        return entry;
    if (HASH_COUNT(processes->map) == REPORT_PROCESSES_MAX) {
        processes->more = true;
        return NULL;
    }
    entry = calloc(1, sizeof(*entry));
    char *name = strdup(subject);
    if (!entry || !name) {
        free(entry);
        free(name);
        return NULL;
    }
    entry->process = (struct report_process){.subject = name, .age = -1, .cpu_seconds = -1};
    HASH_ADD_KEYPTR(hh, processes->map, name, strlen(name), entry);
    return entry;
}

/* Rate x time; a process younger than the record was there for its age only. Which of the two numbers comes
 * first in the record does not matter. */
static void estimate(struct entry *entry, uint64_t window, double seconds, bool is_rate_now)
{
    struct report_process *process = &entry->process;
    bool both = entry->rate_window == window && entry->age_window == window;
    double young = both && entry->window_age < seconds ? seconds - entry->window_age : 0;

    if (is_rate_now) {
        if (process->cpu_seconds < 0)
            process->cpu_seconds = 0;
        process->cpu_seconds += entry->window_rate / 100 * seconds;
    }
    if (both && young > 0)
        process->cpu_seconds -= entry->window_rate / 100 * young;
}

static void take_number(struct report_processes *processes, struct entry *entry, size_t index, double number,
                        double seconds)
{
    const struct recorded_key *key = &processes->recording->keys[index];
    const bool is_counted = processes->keys.counted != NULL;
    struct report_process *process = &entry->process;
    int slot = processes->slots[index];

    if (key == processes->age) {
        process->age = number;
        entry->window_age = number;
        entry->age_window = processes->window;
        if (!is_counted)
            estimate(entry, processes->window, seconds, false);
        return;
    }
    if (slot < 0)
        return;
    if (key->reduce == REDUCE_DELTA)
        process->values[slot] += number;
    else if (!process->has[slot] || number > process->values[slot])
        process->values[slot] = number;
    process->has[slot] = true;
    if (key == processes->keys.counted)
        process->cpu_seconds = process->values[slot];
    if (key == processes->keys.rate && !is_counted) {
        entry->window_rate = number;
        entry->rate_window = processes->window;
        estimate(entry, processes->window, seconds, true);
    }
}

void report_processes_add(struct report_processes *processes, const struct usage_record *record,
                          double seconds)
{
    processes->window++;
    for (size_t i = 0; i < record->count; i++) {
        const struct usage_value *value = &record->values[i];
        if (!value->subject || value->key >= processes->recording->key_count)
            continue;
        const struct recorded_key *key = &processes->recording->keys[value->key];
        struct entry *entry = key->scope == SCOPE_PER_PID ? find_or_add(processes, value->subject) : NULL;
        if (!entry)
            continue;
        if (value->kind == FIELD_NUMBER)
            take_number(processes, entry, value->key, value->number, seconds);
        else if (value->kind == FIELD_TEXT && key == processes->command)
            report_command_keep(&entry->process.command, report_command_sampled(value->text),
                                &processes->command_bytes); /* the last that it was seen with */
        else if (value->kind == FIELD_TEXT && key == processes->start && !entry->process.start_time)
            entry->process.start_time = strdup(value->text);
    }
}

/* The first use of the pid that fits, and that no exit event was about yet. */
static struct entry *find_use(const struct report_processes *processes, int64_t pid, const char *start_time)
{
    enum { USES_OF_A_PID = 1000 };
    char subject[48];

    (void)snprintf(subject, sizeof(subject), "%lld", (long long)pid);
    for (int use = 2; use < USES_OF_A_PID; use++) {
        struct entry *entry = find(processes, subject);
        if (!entry)
            break;
        const char *own = entry->process.start_time;
        if (!entry->use_told && (!own || !start_time || strcmp(own, start_time) == 0))
            return entry;
        (void)snprintf(subject, sizeof(subject), "%lld#%d", (long long)pid, use);
    }
    return NULL;
}

const struct report_process *report_processes_find(const struct report_processes *processes, int64_t pid,
                                                   const char *start_time)
{
    const struct entry *entry = find_use(processes, pid, start_time);

    return entry ? &entry->process : NULL;
}

void report_processes_told(struct report_processes *processes, int64_t pid, const char *start_time,
                           bool rss_is_told)
{
    struct entry *entry = find_use(processes, pid, start_time);

    if (!entry)
        return;
    entry->use_told = true;
    entry->rss_told = rss_is_told;
}

const struct report_process_keys *report_processes_keys(const struct report_processes *processes)
{
    return &processes->keys;
}

bool report_processes_are_too_many(const struct report_processes *processes)
{
    return processes->more;
}

/* What decides the order, and what decides among equals. */
struct rank {
    double first, second;
};

static struct rank rank_cpu(const struct report_processes *processes, const struct report_process *process)
{
    struct rank rank = {process->cpu_seconds > 0 ? process->cpu_seconds : 0, 0};

    for (size_t i = 0; i < processes->keys.count; i++) {
        if (processes->keys.items[i].use == REPORT_USE_CPU && process->has[i] &&
            processes->keys.items[i].key->unit != UNIT_SECONDS && process->values[i] > rank.second)
            rank.second = process->values[i];
    }
    return rank;
}

ptrdiff_t report_processes_slot(const struct report_processes *processes, enum topic topic,
                                const struct report_process *process)
{
    for (size_t i = 0; i < processes->keys.count; i++)
        if (processes->keys.items[i].key->topic == topic && (!process || process->has[i]))
            return (ptrdiff_t)i;
    return -1;
}

/* A mark that the kernel keeps before what samples saw. */
static struct rank rank_memory(const struct report_processes *processes, const struct report_process *process)
{
    ptrdiff_t slot = report_processes_slot(processes, TOPIC_MEMORY_MARK, process);

    if (slot < 0)
        slot = report_processes_slot(processes, TOPIC_MEMORY, process);
    return (struct rank){slot < 0 ? 0 : process->values[slot], 0};
}

/* What reached the storage before what went through the cache. */
static struct rank rank_io(const struct report_processes *processes, const struct report_process *process)
{
    struct rank rank = {0, 0};

    for (size_t i = 0; i < processes->keys.count; i++) {
        if (processes->keys.items[i].use != REPORT_USE_IO || !process->has[i])
            continue;
        const enum topic topic = processes->keys.items[i].key->topic;
        if (topic == TOPIC_IO_READ || topic == TOPIC_IO_WRITE)
            rank.first += process->values[i];
        else
            rank.second += process->values[i];
    }
    return rank;
}

size_t report_processes_top(const struct report_processes *processes, enum report_use use,
                            struct report_process *out, size_t limit)
{
    enum { LIMIT = 64 };
    struct rank ranks[LIMIT];
    size_t count = 0;

    limit = limit < LIMIT ? limit : LIMIT;
    for (const struct entry *entry = processes->map; entry; entry = entry->hh.next) {
        if (use == REPORT_USE_MEMORY ? entry->rss_told : entry->use_told)
            continue;
        struct rank rank = use == REPORT_USE_CPU      ? rank_cpu(processes, &entry->process)
                           : use == REPORT_USE_MEMORY ? rank_memory(processes, &entry->process)
                                                      : rank_io(processes, &entry->process);
        if (!(rank.first > 0) && !(rank.second > 0))
            continue;
        size_t at = count;
        while (at > 0 && (ranks[at - 1].first < rank.first ||
                          (ranks[at - 1].first == rank.first && ranks[at - 1].second < rank.second)))
            at--;
        if (at == limit)
            continue;
        count += count < limit;
        memmove(&out[at + 1], &out[at], (count - at - 1) * sizeof(*out));
        memmove(&ranks[at + 1], &ranks[at], (count - at - 1) * sizeof(*ranks));
        out[at] = entry->process;
        ranks[at] = rank;
    }
    return count;
}
