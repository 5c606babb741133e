/*
 * Holding our kernel-side programs and reading from them: plain system calls and shared memory.
 */
#include "probe/bpf/programs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "base/array.h"
#include "probe/bpf/events.h"
#include "probe/bpf/state.h"

#define CALLS_BATCH 1024
/* One read of an iterator returns at most what the kernel has room for, 8 pages. */
#define TASKS_READ (65536 / sizeof(struct wire_task) + 2) /* as many as there is room for in a read */

static long bpf_call(enum bpf_cmd command, union bpf_attr *attributes)
{
    long result = syscall(SYS_bpf, command, attributes, sizeof(*attributes));

    return result < 0 ? -errno : result;
}

static int take_descriptors(struct bpf_programs *programs, const struct handover *message, const int *fds,
                            size_t count)
{
    size_t next = 0;

    for (int part = 0; part < HANDOVER_PARTS; part++)
        if ((message->parts >> part & 1) && next < count)
            programs->parts[part] = fds[next++];
    while (next < count && programs->link_count < HANDOVER_LINKS_MAX)
        programs->links[programs->link_count++] = fds[next++];
    bool whole = programs->parts[HANDOVER_CONTROL] >= 0 && programs->parts[HANDOVER_EVENTS] >= 0 &&
                 programs->link_count == message->links && next == count &&
                 message->control_offset + sizeof(struct wire_control) <= message->control_size;
    while (next < count)
        (void)close(fds[next++]);
    return whole ? 0 : -EBADMSG;
}

static int map_control(struct bpf_programs *programs, const struct handover *message)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t size = (message->control_size + page - 1) / page * page;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, programs->parts[HANDOVER_CONTROL], 0);

    if (memory == MAP_FAILED)
        return -errno;
    (void)madvise(memory, size, MADV_DONTFORK); /* it would keep the programs after our end */
    programs->memory = memory;
    programs->memory_size = size;
    programs->control = (struct wire_control *)(void *)(programs->memory + message->control_offset);
    return 0;
}

int bpf_programs_new(const struct handover *message, const int *fds, size_t count, struct bpf_programs **out,
                     struct metron_error *error)
{
    struct bpf_programs *programs = calloc(1, sizeof(*programs));

    if (!programs) {
        for (size_t i = 0; i < count; i++)
            (void)close(fds[i]);
        return error_set(error, -ENOMEM, "no memory");
    }
    for (int part = 0; part < HANDOVER_PARTS; part++)
        programs->parts[part] = -1;
    int code = take_descriptors(programs, message, fds, count);
    if (code == 0)
        code = map_control(programs, message);
    if (code == 0)
        code = bpf_ring_open(&programs->ring, programs->parts[HANDOVER_EVENTS], message->ring_size);
    if (code < 0) {
        bpf_programs_free(programs);
        return error_set(error, code, "what metron-bpf sent cannot be used: %s", strerror(-code));
    }
    *out = programs;
    return 0;
}

void bpf_programs_free(struct bpf_programs *programs)
{
    if (!programs)
        return;
    for (size_t i = 0; i < programs->link_count; i++)
        (void)close(programs->links[i]);
    bpf_ring_close(&programs->ring);
    if (programs->memory)
        (void)munmap(programs->memory, programs->memory_size);
    for (int part = 0; part < HANDOVER_PARTS; part++)
        if (programs->parts[part] >= 0)
            (void)close(programs->parts[part]);
    free(programs->tasks);
    free(programs->call_keys);
    free(programs->call_values);
    free(programs);
}

int bpf_programs_events_fd(const struct bpf_programs *programs)
{
    return programs->parts[HANDOVER_EVENTS];
}

struct event_reading {
    lifecycle_visit *visit;
    void *context;
};

static void visit_record(void *context, const void *record, size_t length)
{
    struct event_reading *reading = context;
    struct lifecycle_event event;

    if (bpf_event_parse(record, length, &event) == 0)
        reading->visit(reading->context, &event);
}

void bpf_programs_read_events(struct bpf_programs *programs, lifecycle_visit *visit, void *context)
{
    struct event_reading reading = {visit, context};

    (void)bpf_ring_read(&programs->ring, visit_record, &reading);
}

uint64_t bpf_programs_lost(const struct bpf_programs *programs)
{
    return __atomic_load_n(&programs->control->lost, __ATOMIC_RELAXED) +
           __atomic_load_n(&programs->control->unfollowed, __ATOMIC_RELAXED);
}

double bpf_programs_cpu_seconds(const struct bpf_programs *programs)
{
    return (double)__atomic_load_n(&programs->control->kernel_ns, __ATOMIC_RELAXED) / 1e9;
}

static int iterator_open(const struct bpf_programs *programs, enum handover_part part)
{
    union bpf_attr attributes;

    if (programs->parts[part] < 0)
        return -ENOTSUP;
    (void)memset(&attributes, 0, sizeof(attributes));
    attributes.iter_create.link_fd = (uint32_t)programs->parts[part];
    return (int)bpf_call(BPF_ITER_CREATE, &attributes);
}

bool bpf_programs_work(const struct bpf_programs *programs)
{
    int fd = iterator_open(programs, HANDOVER_TASKS);

    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

/* One entry of the list of those to be followed: written, read (the kernel fills in `id`), taken out. */
/* NOLINTNEXTLINE(readability-non-const-parameter) */
static long seed_call(struct bpf_programs *programs, enum bpf_cmd what, pid_t pid, uint64_t *id)
{
    uint32_t key = (uint32_t)pid;
    union bpf_attr attributes;

    (void)memset(&attributes, 0, sizeof(attributes));
    attributes.map_fd = (uint32_t)programs->parts[HANDOVER_SEEDS];
    attributes.key = (uintptr_t)&key;
    attributes.value = (uintptr_t)id;
    return bpf_call(what, &attributes);
}

/* `wish`: enum wire_wish, or 0. */
static int seed(struct bpf_programs *programs, const pid_t *pids, size_t count, uint64_t wish, uint64_t *ids)
{
    char nothing[1];
    ssize_t length;

    for (size_t i = 0; i < count; i++) {
        uint64_t wished = wish;
        long code = seed_call(programs, BPF_MAP_UPDATE_ELEM, pids[i], &wished);
        if (code < 0)
            return (int)code;
    }
    int fd = iterator_open(programs, HANDOVER_SEEDER);
    if (fd < 0)
        return fd;
    do {
        length = read(fd, nothing, sizeof(nothing));
    } while (length > 0 || (length < 0 && (errno == EINTR || errno == EAGAIN)));
    int code = length < 0 ? -errno : 0;
    (void)close(fd);
    for (size_t i = 0; i < count; i++) {
        uint64_t id = 0;
        if (ids)
            ids[i] = seed_call(programs, BPF_MAP_LOOKUP_ELEM, pids[i], &id) < 0 ? 0 : id;
        (void)seed_call(programs, BPF_MAP_DELETE_ELEM, pids[i], NULL);
    }
    return code;
}

int bpf_programs_follow(struct bpf_programs *programs, const pid_t *pids, size_t count, uint64_t *ids)
{
    return seed(programs, pids, count, 0, ids);
}

int bpf_programs_mark(struct bpf_programs *programs, const pid_t *pids, size_t count, bool marked)
{
    return seed(programs, pids, count, marked ? WIRE_MARK : WIRE_UNMARK, NULL);
}

ssize_t bpf_programs_read_tasks(struct bpf_programs *programs, bool everybody, const struct wire_task **tasks)
{
    ssize_t length = 0;
    int code = 0;

    __atomic_store_n(&programs->control->everybody, everybody, __ATOMIC_RELAXED);
    int fd = iterator_open(programs, HANDOVER_TASKS);
    if (fd < 0)
        return fd;
    size_t *capacity = &programs->task_capacity, bytes = programs->task_bytes;
    (void)ARRAY_FIT(programs->tasks, *capacity, bytes / sizeof(**tasks) + TASKS_READ);
    bytes = 0;
    /* Records are cut wherever a read happens to end: they are whole again at the end. */
    do {
        code = ARRAY_RESERVE(programs->tasks, *capacity, bytes / sizeof(**tasks) + TASKS_READ);
        if (code < 0)
            break;
        length = read(fd, (char *)programs->tasks + bytes, *capacity * sizeof(**tasks) - bytes);
        if (length > 0)
            bytes += (size_t)length;
    } while (length > 0 || (length < 0 && (errno == EINTR || errno == EAGAIN)));
    if (length < 0)
        code = -errno;
    (void)close(fd);
    programs->task_bytes = bytes;
    *tasks = programs->tasks;
    return code < 0 ? code : (ssize_t)(bytes / sizeof(**tasks));
}

int bpf_programs_read_calls(struct bpf_programs *programs, bpf_call_visit *visit, void *context)
{
    union bpf_attr attributes;
    uint32_t position = 0;
    bool first = true;
    long code;

    if (programs->parts[HANDOVER_CALLS] < 0)
        return -ENOTSUP;
    if (!programs->call_keys)
        programs->call_keys = calloc(CALLS_BATCH, sizeof(*programs->call_keys));
    if (!programs->call_values)
        programs->call_values = calloc(CALLS_BATCH, sizeof(*programs->call_values));
    if (!programs->call_keys || !programs->call_values)
        return -ENOMEM;
    do {
        uint32_t next = 0;

        (void)memset(&attributes, 0, sizeof(attributes));
        attributes.batch.map_fd = (uint32_t)programs->parts[HANDOVER_CALLS];
        attributes.batch.in_batch = first ? 0 : (uintptr_t)&position;
        attributes.batch.out_batch = (uintptr_t)&next;
        attributes.batch.keys = (uintptr_t)programs->call_keys;
        attributes.batch.values = (uintptr_t)programs->call_values;
        attributes.batch.count = CALLS_BATCH;
        code = bpf_call(BPF_MAP_LOOKUP_BATCH, &attributes);
        if (code < 0 && code != -ENOENT)
            return (int)code;
        for (uint32_t i = 0; i < attributes.batch.count; i++)
            visit(context, &programs->call_keys[i], &programs->call_values[i]);
        position = next;
        first = false;
    } while (code == 0);
    return 0;
}

void bpf_programs_forget_call(struct bpf_programs *programs, const struct wire_call_key *key)
{
    union bpf_attr attributes;

    (void)memset(&attributes, 0, sizeof(attributes));
    attributes.map_fd = (uint32_t)programs->parts[HANDOVER_CALLS];
    attributes.key = (uintptr_t)key;
    (void)bpf_call(BPF_MAP_DELETE_ELEM, &attributes);
}

uint64_t bpf_programs_calls_lost(const struct bpf_programs *programs)
{
    return __atomic_load_n(&programs->control->calls_lost, __ATOMIC_RELAXED);
}
