/*
 * Writes a made-up history, for tests that kill it, starve it of disk or read the file with another program:
 *
 *     history_writer [OPTION=VALUE…] FILE
 *
 * After each snapshot that is written it prints one line, `ID COUNT` (or with json=1 the snapshot itself,
 * after its id), at once; a failure is a line `error CODE MESSAGE` and not the end. With figures=1 the last
 * line has what it cost. The same options give the same snapshots.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "columns_fixture.h"
#include "store/history/state.h"

struct option_value {
    const char *name;
    double value;
};

enum {
    PROCESSES,
    TICKS,
    INTERVAL,
    START,
    BUSY,
    WAKING,
    CHURN,
    EVENTS,
    JOBS,
    CALLS,
    JSON,
    MAINTAIN,
    CAP,
    HOURS,
    MINUTE_DAYS,
    EVENT_DAYS,
    FILE_LIMIT,
    BUSY_MS,
    PAUSE_MS,
    FIGURES,
    SEED,
    RANDOM,
    OPTIONS
};

static struct option_value options[OPTIONS] = {
    [PROCESSES] = {"processes", 100},
    [TICKS] = {"ticks", 10},
    [INTERVAL] = {"interval", 5},
    [START] = {"start", 1700000000},
    [BUSY] = {"busy", 0.1},
    [WAKING] = {"waking", 0.01},
    [CHURN] = {"churn", 0},
    [EVENTS] = {"events", 0},
    [JOBS] = {"jobs", 0},
    [CALLS] = {"calls", 0},
    [JSON] = {"json", 0},
    [MAINTAIN] = {"maintain", 0},
    [CAP] = {"cap", 0},
    [HOURS] = {"hours", 0},
    [MINUTE_DAYS] = {"minute_days", 0},
    [EVENT_DAYS] = {"event_days", 0},
    [FILE_LIMIT] = {"file_limit", 0},
    [BUSY_MS] = {"busy_ms", 0},
    [PAUSE_MS] = {"pause_ms", 0},
    [FIGURES] = {"figures", 0},
    [SEED] = {"seed", 1},
    [RANDOM] = {"random", 0},
};

/* A process that is made up. */
struct actor {
    struct snapshot_process process;
    double numbers[COLUMNS_MAX];
    char command[96];
    double born;
};

static struct actor *actors;
static size_t actor_count;
static pid_t next_pid = 1000;
static uint64_t next_serial = 1;

static double get(int option)
{
    return options[option].value;
}

static const char *const job_names[] = {"night", "day", "köln"};

static unsigned job_count(void)
{
    return get(JOBS) > 3 ? 3 : (unsigned)get(JOBS);
}

static unsigned chance(void)
{
    static uint64_t state;

    if (state == 0)
        state = (uint64_t)get(SEED) * 2654435761 + 1;
    state = state * 6364136223846793005 + 1442695040888963407;
    return (unsigned)(state >> 33);
}

static bool happens(double probability)
{
    return (double)(chance() % 1000000) < probability * 1e6;
}

static void actor_born(struct actor *actor, double wall)
{
    uint64_t serial = next_serial++;

    *actor = (struct actor){.born = wall};
    (void)snprintf(actor->command, sizeof(actor->command), "/usr/bin/worker --part %u --of /srv/data/set-%u",
                   chance() % 40, chance() % 5);
    actor->process = (struct snapshot_process){
        .serial = serial,
        .image = serial,
        .pid = next_pid++,
        .ppid = 1 + (pid_t)(serial % 7),
        .start_ticks = 1000 + serial,
        .command = actor->command,
        .state = 'S',
        .has_age = true,
        .values = {.numbers = actor->numbers},
    };
    set_value(&actor->process, "cpu_percent", 0);
    set_value(&actor->process, "rss_mb", (1000 + chance() % 100000) * 4096.0);
    set_value(&actor->process, "vms_mb", (100000 + chance() % 1000000) * 4096.0);
    set_value(&actor->process, "threads", 1 + chance() % 8);
    set_value(&actor->process, "open_fds", 3 + chance() % 40);
    set_value(&actor->process, "read_bytes", (chance() % 100000) * 4096.0);
    set_value(&actor->process, "write_bytes", (chance() % 100000) * 4096.0);
    if (get(JOBS) > 0 && serial % 2) {
        actor->process.job_id = job_names[serial % job_count()];
        actor->process.has_sheet = true;
        actor->process.sheet_num = (int64_t)(serial % 5);
        actor->process.membership = MEMBER_BY_DESCENT;
    }
}

static void actor_works(struct actor *actor)
{
    struct snapshot_process *process = &actor->process;

    process->state = chance() % 3 ? 'R' : 'S';
    set_value(process, "cpu_percent", (double)(chance() % 2000) / 1000);
    set_value(process, "rss_mb", get_value(process, "rss_mb") + (chance() % 64) * 4096.0);
    set_value(process, "write_bytes", get_value(process, "write_bytes") + (chance() % 16) * 4096.0);
}

static void actor_rests(struct actor *actor)
{
    actor->process.state = 'S';
    set_value(&actor->process, "cpu_percent", 0);
}

/* Those that go make room for others at the end: pids only grow, and stay in order. */
static void churn(double wall)
{
    for (int i = 0; i < (int)get(CHURN) && actor_count > 1; i++) {
        size_t gone = chance() % actor_count;

        memmove(&actors[gone], &actors[gone + 1], (actor_count - gone - 1) * sizeof(*actors));
        actor_born(&actors[actor_count - 1], wall);
    }
    for (size_t i = 0; i < actor_count; i++) { /* it may have moved */
        actors[i].process.command = actors[i].command;
        actors[i].process.values.numbers = actors[i].numbers;
    }
}

static void act(double wall)
{
    churn(wall);
    for (size_t i = 0; i < actor_count; i++) {
        bool busy = get(RANDOM) > 0 ? happens(get(BUSY))
                                    : (double)(actors[i].process.serial * 7919 % 1000) < get(BUSY) * 1000;

        if (busy || happens(get(WAKING)))
            actor_works(&actors[i]);
        else if (get(RANDOM) == 0 && get_value(&actors[i].process, "cpu_percent") > 0)
            actor_rests(&actors[i]);
    }
}

static void add_events(struct snapshot *snapshot)
{
    size_t count = (size_t)get(EVENTS);

    snapshot->events = arena_alloc(&snapshot->arena, (count + 1) * sizeof(*snapshot->events));
    for (size_t i = 0; snapshot->events && i < count; i++)
        snapshot->events[snapshot->event_count++] = (struct event){
            .type = i % 2 ? EVENT_EXIT : EVENT_SPAWN,
            .seen = SEEN_EVENT,
            .wall = snapshot->wall,
            .pid = (pid_t)(5000 + i),
            .ppid = 1,
            .start_time = "2026-11-15T07:42:53.000000+00:00",
            .command = "/bin/true",
            .has_status = i % 2,
            .wait_status = 3 << 8,
            .job_id = i % 3 ? NULL : "night",
            .has_sheet = i % 3 == 0,
            .sheet_num = 4,
        };
}

/* The first has a sheet and has used something. */
static void add_jobs(struct snapshot *snapshot, uint64_t tick)
{
    unsigned count = job_count();
    struct job *job = arena_alloc(&snapshot->arena, count * sizeof(*job));
    struct job_sheet *sheet = arena_alloc(&snapshot->arena, sizeof(*sheet));

    if (!job || !sheet)
        return;
    *sheet = (struct job_sheet){
        .number = 4, .status = SHEET_RUNNING, .pid = 1000, .started = {1700000000, 1}, .tries = 1};
    sheet->usage = (struct job_usage){.present = USAGE_BIT(USAGE_PEAK_RSS),
                                      .numbers = {[USAGE_PEAK_RSS] = (double)tick * 4096}};
    for (unsigned i = 0; i < count; i++)
        job[i] = (struct job){.id = job_names[i], .status = JOB_RUNNING, .started = {1700000000, 7}};
    job->sheets = sheet;
    job->sheet_count = 1;
    job->usage = (struct job_usage){.present = USAGE_BIT(USAGE_CPU), .numbers = {[USAGE_CPU] = (double)tick}};
    snapshot->changed_jobs = job;
    snapshot->changed_job_count = count;
    snapshot->running_jobs = 1;
    snapshot->active_sheets = 1;
}

static struct snapshot *make_snapshot(struct snapshot_pool *pool, uint64_t tick, double wall)
{
    static const struct snapshot_call calls[] = {{"read", 40, 0.75}, {"write", 7, 0.25}};
    struct snapshot *snapshot = snapshot_new(pool);

    if (!snapshot || snapshot_set_columns(snapshot, all_columns()) < 0)
        return NULL;
    snapshot->boot_seconds = wall;
    snapshot->wall = (struct timespec){(time_t)wall, (long)((wall - (double)(time_t)wall) * 1e9)};
    snapshot->tick = tick;
    snapshot->daemon_pid = getpid();
    snapshot->uptime_seconds = (double)tick * get(INTERVAL);
    set_machine(snapshot, "system_memory_total_mb", 0x1p36);
    set_machine(snapshot, "system_memory_available_mb", 0x1p35 + (double)tick * 4096);
    set_machine(snapshot, "system_memory_used_mb", 0x1p35 - (double)tick * 4096);
    set_machine(snapshot, "daemon_rss_mb", 12 << 20);
    set_machine(snapshot, "load_avg_1", 1.25);
    set_machine(snapshot, "load_avg_5", (double)tick);
    set_machine(snapshot, "load_avg_15", 0.5);
    snapshot->processes = snapshot_make_processes(snapshot, actor_count);
    for (size_t i = 0; snapshot->processes && i < actor_count; i++) {
        struct snapshot_process *process = &snapshot->processes[i];

        double *numbers = process->values.numbers;
        *process = actors[i].process;
        process->values.numbers =
            memcpy(numbers, actors[i].numbers, all_columns()->process.count * sizeof(*numbers));
        process->age_seconds = wall - actors[i].born;
        if (get(CALLS) > 0 && process->job_id) {
            process->calls = calls;
            process->call_count = 2;
        }
        snapshot->process_count++;
    }
    add_events(snapshot);
    if (get(JOBS) > 0)
        add_jobs(snapshot, tick);
    return snapshot;
}

static double cpu_ms(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

struct spent {
    double write_ms, write_max_ms, maintain_ms, maintain_max_ms;
};

static void tell(const struct history *history, const struct snapshot *snapshot)
{
    struct strbuf text = STRBUF_INIT;
    struct json json;

    if (get(JSON) > 0) {
        json_init(&json, &text, 0);
        snapshot_json(&json, snapshot, NULL);
        printf("%lld %s\n", (long long)history->committed.tick, strbuf_text(&text));
    } else if (get(FIGURES) == 0) {
        printf("%lld %zu\n", (long long)history->committed.tick, snapshot->process_count);
    }
    (void)fflush(stdout);
    strbuf_fini(&text);
}

static void maintain(struct history *history, double wall, struct spent *cost)
{
    struct metron_error error = {0};
    int more = 1;

    while (more > 0) {
        double before = cpu_ms();

        more = history_maintain(history, wall, get(MAINTAIN) / 1000, &error);
        double took = cpu_ms() - before;
        cost->maintain_ms += took;
        cost->maintain_max_ms = took > cost->maintain_max_ms ? took : cost->maintain_max_ms;
        if (more < 0)
            printf("error %d %s\n", error.code, error.message);
    }
}

static void one_tick(struct history *history, struct snapshot_pool *pool, uint64_t tick, struct spent *cost)
{
    double wall = get(START) + (double)tick * get(INTERVAL);
    struct metron_error error = {0};

    act(wall);
    struct snapshot *snapshot = make_snapshot(pool, tick, wall);
    if (!snapshot)
        exit(3);
    double before = cpu_ms();
    int code = history_write(history, snapshot, &error);
    double took = cpu_ms() - before;
    cost->write_ms += took;
    cost->write_max_ms = took > cost->write_max_ms ? took : cost->write_max_ms;
    if (code < 0) {
        printf("error %d %s\n", error.code, error.message);
        (void)fflush(stdout);
    } else {
        tell(history, snapshot);
    }
    snapshot_release(snapshot);
    if (get(MAINTAIN) > 0)
        maintain(history, wall, cost);
    if (get(PAUSE_MS) > 0)
        (void)usleep((useconds_t)(get(PAUSE_MS) * 1000));
}

static void read_options(int count, char **arguments)
{
    for (int i = 1; i < count - 1; i++) {
        bool known = false;

        for (size_t o = 0; o < OPTIONS; o++) {
            size_t length = strlen(options[o].name);

            if (strncmp(arguments[i], options[o].name, length) == 0 && arguments[i][length] == '=') {
                options[o].value = strtod(arguments[i] + length + 1, NULL);
                known = true;
            }
        }
        if (!known) {
            (void)fprintf(stderr, "history_writer: unknown option %s\n", arguments[i]);
            exit(2);
        }
    }
}

int main(int count, char **arguments)
{
    struct metron_error error = {0};
    struct history *history = NULL;
    struct spent cost = {0};

    if (count < 2)
        return 2;
    read_options(count, arguments);
    struct history_options wishes = {
        .path = arguments[count - 1],
        .columns = all_columns(),
        .full_hours = get(HOURS),
        .minute_days = get(MINUTE_DAYS),
        .event_days = get(EVENT_DAYS),
        .size_cap_bytes = (uint64_t)get(CAP),
        .busy_timeout_ms = (unsigned)get(BUSY_MS),
    };
    if (get(FILE_LIMIT) > 0) {
        struct rlimit limit = {(rlim_t)get(FILE_LIMIT), RLIM_INFINITY};

        (void)signal(SIGXFSZ, SIG_IGN);
        (void)setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (history_open(&wishes, &history, &error) < 0) {
        printf("error %d %s\n", error.code, error.message);
        return 1;
    }
    if (history_set_aside(history))
        printf("aside %s\n", history_set_aside(history));
    (void)fflush(stdout);
    struct snapshot_pool *pool = snapshot_pool_new();
    actor_count = (size_t)get(PROCESSES);
    actors = calloc(actor_count + 1, sizeof(*actors));
    if (!pool || !actors)
        return 3;
    for (size_t i = 0; i < actor_count; i++)
        actor_born(&actors[i], get(START) - 100);
    for (uint64_t tick = 1; tick <= (uint64_t)get(TICKS); tick++)
        one_tick(history, pool, tick, &cost);
    if (get(FIGURES) > 0)
        printf("write_ms %.3f max %.3f maintain_ms %.3f max %.3f\n", cost.write_ms / get(TICKS),
               cost.write_max_ms, cost.maintain_ms / get(TICKS), cost.maintain_max_ms);
    history_close(history);
    snapshot_pool_free(pool);
    free(actors);
    return 0;
}
