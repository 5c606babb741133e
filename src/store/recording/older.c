#include "store/recording/older.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void add_text(struct field_list *list, const char *name, const char *text)
{
    field_list_add(list, &(struct recorded_field){.name = name, .kind = FIELD_TEXT, .text = text});
}

static enum bound bound_of(const char *note)
{
    static const struct {
        const char *words;
        enum bound bound;
    } said[] = {
        {"lower bound", BOUND_LOWER},
        {"not conserved", BOUND_LOWER},
        {"several may have held more", BOUND_LOWER},
        {"upper bound", BOUND_UPPER},
        {"an estimate", BOUND_ABOUT},
    };

    for (size_t i = 0; note && i < COUNT(said); i++)
        if (strstr(note, said[i].words))
            return said[i].bound;
    return BOUND_NONE;
}

static void add_bounds(struct field_list *list)
{
    char name[64];

    for (size_t i = 0; i < ALIAS_COUNT; i++) {
        if (!recorded_aliases[i].headline)
            continue;
        (void)snprintf(name, sizeof(name), "headline.%s.note", recorded_aliases[i].headline);
        enum bound bound = bound_of(field_list_text(list, name));
        (void)snprintf(name, sizeof(name), "headline.%s.bound", recorded_aliases[i].headline);
        if (bound != BOUND_NONE)
            add_text(list, name, bound_name(bound));
    }
}

/* Only a stall that was not the run's own had a note. */
static void add_stalls(struct field_list *list)
{
    static const char *const names[][3] = {{"stall.cpu.share", "stall.cpu.note", "stall.cpu.of"},
                                           {"stall.memory.share", "stall.memory.note", "stall.memory.of"},
                                           {"stall.io.share", "stall.io.note", "stall.io.of"}};

    for (size_t i = 0; i < COUNT(names); i++) {
        const char *note = field_list_text(list, names[i][1]);
        if (field_list_find(list, names[i][0], FIELD_NUMBER))
            add_text(list, names[i][2], !note ? "run" : strstr(note, "machine") ? "machine" : "group");
    }
}

/* "killed by SIGKILL, sent by kill (pid 7104)" -> "kill" */
static void add_sender(struct field_list *list, const char *cause)
{
    static const char before[] = "sent by ";
    const char *sender = strstr(cause, before);

    if (!sender)
        return;
    sender += sizeof(before) - 1;
    const char *end = strstr(sender, " (pid ");
    size_t length = end ? (size_t)(end - sender) : strlen(sender);
    const char *name = strcmp(sender, "the kernel") == 0 ? "kernel" : arena_copy(list->arena, sender, length);
    list->no_memory |= !name;
    if (name)
        add_text(list, "outcome.sender.command", name);
}

static void add_outcome(struct field_list *list, const char *cause)
{
    /* The last one that is found wins. */
    static const struct {
        const char *words, *field, *value;
    } said[] = {
        {"exited with code", "outcome.kind", "exited"},
        {"killed by SIG", "outcome.kind", "signaled"},
        {"by the OOM killer", "outcome.kind", "oom"},
        {"still runs", "outcome.kind", "still_running"},
        {"does not end", "outcome.kind", "still_running"},
        {"could not be started", "outcome.kind", "not_started"},
        {"by the OOM killer", "outcome.oom_victim", "command"},
        {"the OOM killer killed", "outcome.oom_victim", "processes"},
        {"in its group", "outcome.oom_victim", "group"},
        {"at its own limit", "outcome.limit_of", "own"},
        {"at the limit of its parent group", "outcome.limit_of", "parent"},
        {"at the limit of a group above", "outcome.limit_of", "ancestor"},
        {"the host was out of memory", "outcome.limit_of", "host"},
    };

    for (size_t i = 0; i < COUNT(said); i++)
        if (strstr(cause, said[i].words))
            add_text(list, said[i].field, said[i].value);
    if (strstr(cause, "ended through metron"))
        field_list_add(list, &(struct recorded_field){
                                 .name = "outcome.ended_by_metron", .kind = FIELD_BOOLEAN, .number = 1});
    add_sender(list, cause);
}

void older_add_facts(struct field_list *list, const char *schema_version)
{
    const char *cause = field_list_text(list, "cause");

    if (strcmp(schema_version, "1.0") != 0)
        return;
    add_bounds(list);
    add_stalls(list);
    if (cause)
        add_outcome(list, cause);
}

void older_describe_key(struct recorded_key *key)
{
    /* The first that matches. */
    static const struct {
        enum topic topic;
        const char *keys[6]; /* of which the last is NULL */
    } known[] = {
        {TOPIC_SELF_CPU, {"self_cpu_seconds"}},
        {TOPIC_SELF_MEMORY, {"self_rss"}},
        {TOPIC_SELF_SAMPLES, {"self_samples"}},
        {TOPIC_SELF_MISSED, {"self_missed_ticks"}},
        {TOPIC_SELF, {"self_*"}},
        {TOPIC_MACHINE_CPU, {"sys_cpu_pct"}},
        {TOPIC_MACHINE, {"sys_*"}},
        {TOPIC_STALL_MACHINE_CPU, {"psi_cpu_some_pct"}},
        {TOPIC_STALL_MACHINE_MEMORY, {"psi_memory_some_pct"}},
        {TOPIC_STALL_MACHINE_IO, {"psi_io_some_pct"}},
        {TOPIC_STALL_MACHINE, {"psi_*"}},
        {TOPIC_STALL_CPU, {"*_psi_cpu_some_pct"}},
        {TOPIC_STALL_MEMORY, {"*_psi_memory_some_pct"}},
        {TOPIC_STALL_IO, {"*_psi_io_some_pct"}},
        {TOPIC_STALL, {"*_psi_*"}},
        {TOPIC_CPU_PART, {"ledger_*"}},
        {TOPIC_CPU_USER, {"*_cpu_user_seconds"}},
        {TOPIC_CPU_SYSTEM, {"*_cpu_system_seconds"}},
        {TOPIC_CPU_THROTTLED, {"*_throttled_seconds"}},
        {TOPIC_CPU, {"*_cpu_seconds*", "*_pdcpu*"}},
        {TOPIC_MEMORY_MARK, {"*_hwm*", "cgroup_mem_peak", "*_max_rss*"}},
        {TOPIC_MEMORY, {"*_rss*", "*_pmem*", "*_pss*", "*_mem_anon_shmem"}},
        {TOPIC_MEMORY_LIMIT, {"*_mem_limit"}},
        {TOPIC_MEMORY_PART, {"cgroup_mem_*", "*_vsz*", "*_uss*"}},
        {TOPIC_MEMORY_SWAP, {"*_swap*"}},
        {TOPIC_IO_READ, {"*_read_*", "*_in_bytes"}},
        {TOPIC_IO_WRITE, {"*_write_*", "*_out_bytes"}},
        {TOPIC_IO_READ_CALLS, {"io_rchar*", "io_syscr*"}},
        {TOPIC_IO_WRITE_CALLS, {"io_wchar*", "io_syscw*"}},
        {TOPIC_IO, {"io_*"}},
        {TOPIC_FAULT, {"*_minor_faults*"}},
        {TOPIC_FAULT_MAJOR, {"*_major_faults*"}},
        {TOPIC_SWITCH, {"*_ctx_*"}},
        {TOPIC_PROCESS_ZOMBIES, {"*_zombies"}},
        {TOPIC_PROCESS_OOM_KILLS, {"*_oom_kills"}},
        {TOPIC_PROCESS_COMMAND, {"*_cmd"}},
        {TOPIC_PROCESS_START, {"*_start_time"}},
        {TOPIC_PROCESS_AGE, {"*_etime"}},
        {TOPIC_PROCESS, {"*_processes", "*_stat", "*_ppid", "proc_spawned", "proc_exited"}},
        {TOPIC_THREAD, {"*_threads*", "*_pids_peak"}},
        {TOPIC_FILE, {"proc_fd*"}},
        {TOPIC_SYSCALL_ERRORS, {"syscall_errors*"}},
        {TOPIC_SYSCALL, {"syscall_*"}},
    };

    key->topic = TOPIC_OTHER;
    /* Of their bounds only this one is asked for. */
    key->bound = text_glob("*_rss_total", key->key) ? BOUND_UPPER : BOUND_NONE;
    for (size_t i = 0; i < COUNT(known); i++)
        for (const char *const *glob = known[i].keys; *glob; glob++)
            if (text_glob(*glob, key->key)) {
                key->topic = known[i].topic;
                return;
            }
}
