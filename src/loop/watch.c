#include "loop/watch.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "loop/descriptors.h"
#include "loop/listening.h"
#include "loop/sampler.h"
#include "loop/snapshots.h"
#include "loop/ticker.h"
#include "tree/groups.h"

/* Once so much has happened a snapshot is taken before its time: what happened waits in memory until then,
 * and so does whoever has ended (tree/members.c), which takes a few times as much. */
#define EVENTS_BYTES ((size_t)1024 * 1024)
/* Of what the store did not take so much is offered again, the newest. */
#define CARRIED_BYTES_MAX (2 * EVENTS_BYTES)
/* More is counted and not kept. */
#define EVENTS_BYTES_MAX (4 * EVENTS_BYTES)

/* A command line is cut here: with that of a run thousands of processes might take tens of megabytes. */
#define COMMAND_BYTES ((size_t)4096)

/* Tables shrink with the next ticks, and the store a little later. */
#define TRIMS 4

struct watch {
    struct watch_options options;
    struct tree *tree;
    struct sampler *sampler;
    struct record record;
    struct snapshot_pool *pool;
    struct snapshot *next; /* the one being filled: events come into it as they are told */
    size_t unforced_bytes; /* of its events, those that make no snapshot due: carried over, or no process's */
    bool carries;          /* the snapshot of this tick is not stored: its events are to be carried over */
    bool hastened;         /* the next tick is before its time */
    bool stormy;           /* some were, since the last one in time */
    size_t crowd;          /* the most processes there were since memory was last given back */
    unsigned trims;        /* so many ticks give memory back yet */
    struct listening listening;
    struct ticker ticker;
    int tick_fd;
    uv_poll_t tick_poll;
    bool started;
    uint64_t start_ns;
    struct watch_figures figures;
};

/* ---- events, kept until the tick ---- */

/* The next tick comes at once: what happens then goes into another snapshot. */
static void hasten(struct watch *watch)
{
    const struct itimerspec at_once = {.it_value = {.tv_nsec = 1}};

    if (watch->hastened || !watch->started)
        return;
    watch->hastened = timerfd_settime(watch->tick_fd, 0, &at_once, NULL) == 0;
}

static void on_event(void *owner, const struct event *event)
{
    struct watch *watch = owner;
    struct snapshot *next = watch->next;

    if (!next || next->event_bytes >= EVENTS_BYTES_MAX || snapshot_add_event(next, event) < 0)
        watch->figures.events_lost++;
    if (next && next->event_bytes - watch->unforced_bytes >= EVENTS_BYTES)
        hasten(watch);
}

/* The newest ones, as far as there is room, go with the next snapshot. */
static void carry_events(struct watch *watch, const struct snapshot *refused)
{
    struct snapshot *next = watch->next;
    size_t first = refused->event_count, bytes = 0;

    while (first > 0 && next) {
        bytes += event_bytes(&refused->events[first - 1]);
        if (bytes > CARRIED_BYTES_MAX)
            break;
        first--;
    }
    watch->figures.events_dropped += first;
    for (size_t i = first; i < refused->event_count; i++)
        if (snapshot_add_event(next, &refused->events[i]) < 0)
            watch->figures.events_dropped++;
    if (next) {
        next->told_count = next->event_count;
        watch->unforced_bytes = next->event_bytes;
    }
}

static void on_end(void *owner, const struct process *process)
{
    struct watch *watch = owner;

    if (watch->sampler)
        sampler_end_process(watch->sampler, process->subject.serial);
    if (watch->options.on_end)
        watch->options.on_end(watch->options.owner, process);
}

static void on_found(void *owner, struct process *process)
{
    struct watch *watch = owner;

    if (watch->options.on_found)
        watch->options.on_found(watch->options.owner, process);
}

/* ---- ticks ---- */

static void begin_next(struct watch *watch)
{
    watch->next = snapshot_new(watch->pool);
    watch->unforced_bytes = 0;
}

static double own_cpu_seconds(void)
{
    struct rusage usage;

    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
    return clock_timeval_seconds(usage.ru_utime) + clock_timeval_seconds(usage.ru_stime);
}

/* Each CPU tells what it saw: the order among them is that of the clock. */
static int compare_time(const void *left, const void *right)
{
    const struct event *a = left, *b = right;

    if (a->wall.tv_sec != b->wall.tv_sec)
        return a->wall.tv_sec < b->wall.tv_sec ? -1 : 1;
    if (a->wall.tv_nsec != b->wall.tv_nsec)
        return a->wall.tv_nsec < b->wall.tv_nsec ? -1 : 1;
    return (a->serial > b->serial) - (a->serial < b->serial);
}

static void sort_events(struct snapshot *snapshot)
{
    size_t first = snapshot->told_count; /* those have their order */

    for (size_t i = first; i < snapshot->event_count; i++)
        snapshot->events[i].serial = i;
    if (snapshot->event_count > first)
        qsort(snapshot->events + first, snapshot->event_count - first, sizeof(*snapshot->events),
              compare_time);
}

/* The snapshot goes its way, another one is begun. */
static void finish_current(struct watch *watch)
{
    struct snapshot *current = watch->next;

    begin_next(watch);
    if (watch->carries && current)
        carry_events(watch, current);
    watch->carries = false;
    snapshot_release(current);
}

void watch_carry_events(struct watch *watch)
{
    watch->carries = true;
}

static int fill(struct watch *watch)
{
    int code = snapshot_set_columns(watch->next, watch->options.columns);
    return code < 0 ? code : snapshot_fill(watch->next, watch->tree, watch->sampler, &watch->record);
}

static void tick(struct watch *watch)
{
    struct watch_figures *figures = &watch->figures;
    uint64_t begin_ns = clock_monotonic_ns();

    if (watch->options.events->programs)
        sampler_set_kernel_cpu(watch->sampler, bpf_programs_cpu_seconds(watch->options.events->programs));
    kernel_events_reap(watch->options.events, watch->tree);
    (void)sampler_sample(watch->sampler);
    if (watch->options.on_sampled)
        watch->options.on_sampled(watch->options.owner);
    if (!watch->next)
        begin_next(watch);
    if (sampler_report(watch->sampler, &watch->record) < 0 || !watch->next || fill(watch) < 0) {
        log_warning("no memory for a snapshot: this one is lost");
    } else {
        sort_events(watch->next);
        watch->next->tick = ++figures->ticks;
        watch->next->uptime_seconds = watch->record.elapsed_seconds; /* at the time it is stamped with */
        watch->next->boot_seconds = clock_boot_seconds();
        watch->options.on_tick(watch->options.owner, watch->next);
    }
    finish_current(watch);
    figures->cpu_seconds = own_cpu_seconds();
    figures->tick_seconds = (double)(clock_monotonic_ns() - begin_ns) / (double)NS_PER_SECOND;
    if (figures->tick_seconds > figures->longest_tick_seconds)
        figures->longest_tick_seconds = figures->tick_seconds;
}

struct snapshot *watch_pending(struct watch *watch)
{
    tree_read_events(watch->tree);
    if (watch->next)
        sort_events(watch->next);
    return watch->next;
}

/* The last event: behind those that were published, before those that are not yet. */
static void put_before_untold(struct watch *watch, struct snapshot *next)
{
    struct event *events = next->events;
    const size_t last = next->event_count - 1, place = next->told_count++;
    const struct event added = events[last];

    (void)memmove(&events[place + 1], &events[place], (last - place) * sizeof(*events));
    events[place] = added;
    watch->unforced_bytes += event_bytes(&added);
}

void watch_add_event(struct watch *watch, const struct event *event)
{
    struct snapshot *next = watch->next;
    struct event added = *event;

    if (next && next->event_bytes >= EVENTS_BYTES)
        added.data = NULL;
    if (!next || next->event_bytes >= EVENTS_BYTES_MAX || snapshot_add_event(next, &added) < 0)
        watch->figures.events_lost++;
    else
        put_before_untold(watch, next);
}

struct snapshot *watch_take_events(struct watch *watch)
{
    struct snapshot *events = watch->next;

    if (!events)
        return NULL;
    begin_next(watch);
    for (size_t i = events->told_count; i < events->event_count; i++)
        on_event(watch, &events->events[i]);
    events->event_count = events->told_count;
    events->wall = clock_wall();
    events->boot_seconds = clock_boot_seconds();
    return events;
}

void watch_return_events(struct watch *watch, struct snapshot *events)
{
    struct snapshot *untold = watch->next;

    watch->next = events;
    watch->unforced_bytes = events->event_bytes;
    for (size_t i = 0; untold && i < untold->event_count; i++)
        on_event(watch, &untold->events[i]);
    snapshot_release(untold);
}

void watch_look(struct watch *watch)
{
    if (watch->started)
        tick(watch);
}

static void arm(struct watch *watch)
{
    struct itimerspec when = {.it_value = {.tv_sec = (time_t)(watch->ticker.next_ns / NS_PER_SECOND),
                                           .tv_nsec = (long)(watch->ticker.next_ns % NS_PER_SECOND)}};
    (void)timerfd_settime(watch->tick_fd, TFD_TIMER_ABSTIME, &when, NULL);
    watch->hastened = false;
}

/* What a storm or a crowd took is given back once it is over: the allocator would keep what lies between two
 * blocks that are in use. */
static void settle_memory(struct watch *watch, bool is_due)
{
    size_t count = tree_count(watch->tree);
    bool storm_is_over = watch->stormy && is_due && !watch->hastened;

    if (count > watch->crowd)
        watch->crowd = count;
    watch->stormy = !is_due || watch->hastened;
    if (!is_due)
        return;
    if (storm_is_over || capacity_is_spare(watch->crowd, count)) {
        watch->crowd = count;
        watch->trims = TRIMS;
    }
    if (watch->trims > 0) {
        watch->trims--;
        (void)malloc_trim(0);
    }
}

static void on_tick(uv_poll_t *poll, int status, int events)
{
    struct watch *watch = poll->data;
    uint64_t expirations;

    (void)status;
    (void)events;
    if (read(watch->tick_fd, &expirations, sizeof(expirations)) < 0)
        return;
    bool is_due = !watch->hastened || clock_monotonic_ns() >= watch->ticker.next_ns;
    tick(watch);
    settle_memory(watch, is_due);
    if (is_due) {
        uint64_t missed = ticker_advance(&watch->ticker, clock_monotonic_ns());
        watch->figures.missed_ticks += missed;
        sampler_count_missed(watch->sampler, missed);
    }
    arm(watch);
}

void watch_set_interval(struct watch *watch, double seconds)
{
    watch->options.interval = seconds;
    if (!watch->started)
        return;
    ticker_init(&watch->ticker, clock_monotonic_ns(), (uint64_t)(seconds * (double)NS_PER_SECOND));
    arm(watch);
}

/* ---- begin and end ---- */

static int open_tree(struct watch *watch, struct metron_error *error)
{
    const struct watch_options *options = &watch->options;
    struct tree_options tree_options = {
        .proc_root = options->context->proc_root,
        .facts = options->context->facts,
        .kept_descriptors = descriptors_to_keep(NULL),
        .start_ns = watch->start_ns,
        .scope = TREE_OF_MACHINE,
        .all_users = options->all_users,
        .source = kernel_events_source(options->events),
        .why_no_source = options->events->why_no_connector.message,
        .read_clock = true,
        .read_io = true,
        .command_bytes = COMMAND_BYTES,
        .secrets = options->secrets,
        .on_event = on_event,
        .on_end = on_end,
        .on_found = on_found,
        .context = watch,
    };

    watch->tree = tree_new(&tree_options, error);
    if (!watch->tree)
        return error && error->code ? error->code : -ENOMEM;
    tree_use_tasks(watch->tree, options->events->programs);
    return 0;
}

struct watch *watch_new(const struct watch_options *options, struct metron_error *error)
{
    struct watch *watch = calloc(1, sizeof(*watch));

    if (!watch || !(watch->pool = snapshot_pool_new()))
        goto no_memory;
    watch->options = *options;
    watch->tick_fd = -1;
    watch->start_ns = clock_monotonic_ns();
    begin_next(watch);
    if (open_tree(watch, error) < 0)
        goto fail;
    struct sampler_options sampler_options = {
        .registry = options->registry,
        .tree = watch->tree,
        .context = options->context,
        .start_ns = watch->start_ns,
        .usable_cores = options->context->facts->online_cpus,
        .online_cores = options->context->facts->online_cpus,
        .machine = true,
    };
    watch->sampler = sampler_new(&sampler_options, error);
    if (!watch->sampler)
        goto fail;
    watch->tick_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (watch->tick_fd < 0) {
        (void)error_set(error, -errno, "no timer: %s", strerror(errno));
        goto fail;
    }
    return watch;
no_memory:
    (void)error_set(error, -ENOMEM, "no memory to watch with");
fail:
    watch_free(watch);
    return NULL;
}

int watch_start(struct watch *watch)
{
    const struct watch_options *options = &watch->options;

    watch->listening =
        (struct listening){.loop = options->loop, .tree = watch->tree, .events = options->events};
    int code = listening_start(&watch->listening);
    if (code == 0)
        code = uv_poll_init(options->loop, &watch->tick_poll, watch->tick_fd);
    if (code < 0)
        return code;
    watch->tick_poll.data = watch;
    code = uv_poll_start(&watch->tick_poll, UV_READABLE, on_tick);
    if (code < 0)
        return code;
    watch->started = true;
    tree_refresh(watch->tree); /* everybody as they stand: their past is not ours */
    sampler_seed(watch->sampler);
    ticker_init(&watch->ticker, clock_monotonic_ns(), (uint64_t)(options->interval * (double)NS_PER_SECOND));
    arm(watch);
    listening_load(&watch->listening, 0);
    return 0;
}

static void close_handle(uv_handle_t *handle)
{
    if (handle->type != UV_UNKNOWN_HANDLE && !uv_is_closing(handle))
        uv_close(handle, NULL);
}

void watch_stop(struct watch *watch)
{
    if (!watch->started)
        return;
    watch->started = false;
    watch->listening.stopped = true;
    close_handle((uv_handle_t *)&watch->tick_poll);
    close_handle((uv_handle_t *)&watch->listening.source_polls[0]);
    close_handle((uv_handle_t *)&watch->listening.source_polls[1]);
    close_handle((uv_handle_t *)&watch->listening.load_poll);
    close_handle((uv_handle_t *)&watch->listening.pause);
    close_handle((uv_handle_t *)&watch->listening.load_timer);
}

void watch_free(struct watch *watch)
{
    if (!watch)
        return;
    sampler_free(watch->sampler);
    watch->sampler = NULL;
    tree_free(watch->tree);
    record_fini(&watch->record);
    snapshot_release(watch->next);
    snapshot_pool_free(watch->pool);
    if (watch->tick_fd >= 0)
        (void)close(watch->tick_fd);
    free(watch);
}

struct tree *watch_tree(struct watch *watch)
{
    return watch->tree;
}

double watch_uptime(const struct watch *watch)
{
    return (double)(clock_monotonic_ns() - watch->start_ns) / (double)NS_PER_SECOND;
}

struct watch_figures watch_figures(const struct watch *watch)
{
    struct watch_figures figures = watch->figures;

    figures.events_lost += tree_events_lost(watch->tree);
    return figures;
}
