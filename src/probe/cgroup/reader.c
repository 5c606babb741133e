#include "probe/cgroup/reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "probe/cgroup/files.h"
#include "probe/cgroup/group.h"
#include "probe/kept_file.h"
#include "probe/pressure.h"

#define FILE_FACTS 4     /* a file tells at most so many */
#define TEXT_SIZE  16384 /* memory.stat of v1 with many NUMA nodes stays below it */

enum layout { LAYOUT_NUMBER, LAYOUT_KEYED, LAYOUT_PRESSURE, LAYOUT_IO_STAT, LAYOUT_BLKIO };

/* One file of a group: where it is, how it reads, which facts it tells. */
struct group_file {
    enum cgroup_controller controller;
    int version;
    const char *name;
    enum layout layout;
    const char *const keys[FILE_FACTS]; /* of LAYOUT_KEYED, in the order of `facts` */
    enum cgroup_fact facts[FILE_FACTS];
    unsigned fact_count;
    double scale; /* from the file's unit to ours; of periods, which have none, 1 */
};

#define USEC 1e-6
#define NSEC 1e-9

/* CPU time is told by the v2 group or by v1's cpuacct; of an own leaf by one of them, of an inherited group
 * perhaps by both: then the later in this table stands. */
static const struct group_file files[] = {
    {CGROUP_MEMORY, 2, "memory.peak", LAYOUT_NUMBER, {0}, {CGROUP_MEM_PEAK}, 1, 1},
    {CGROUP_MEMORY, 1, "memory.max_usage_in_bytes", LAYOUT_NUMBER, {0}, {CGROUP_MEM_PEAK}, 1, 1},
    {CGROUP_MEMORY, 2, "memory.peak", LAYOUT_NUMBER, {0}, {CGROUP_MEM_INTERVAL_PEAK}, 1, 1},
    {CGROUP_MEMORY, 1, "memory.max_usage_in_bytes", LAYOUT_NUMBER, {0}, {CGROUP_MEM_INTERVAL_PEAK}, 1, 1},
    {CGROUP_MEMORY, 2, "memory.current", LAYOUT_NUMBER, {0}, {CGROUP_MEM_CURRENT}, 1, 1},
    {CGROUP_MEMORY, 1, "memory.usage_in_bytes", LAYOUT_NUMBER, {0}, {CGROUP_MEM_CURRENT}, 1, 1},
    {CGROUP_MEMORY,
     2,
     "memory.stat",
     LAYOUT_KEYED,
     {"anon", "shmem", "file"},
     {CGROUP_MEM_ANON, CGROUP_MEM_SHMEM, CGROUP_MEM_FILE},
     3,
     1},
    {CGROUP_MEMORY,
     1,
     "memory.stat",
     LAYOUT_KEYED,
     {"total_rss", "total_shmem", "total_cache"},
     {CGROUP_MEM_ANON, CGROUP_MEM_SHMEM, CGROUP_MEM_FILE},
     3,
     1},
    {CGROUP_MEMORY,
     2,
     "memory.events",
     LAYOUT_KEYED,
     {"oom_kill", "oom"},
     {CGROUP_OOM_KILLS, CGROUP_OOM_EVENTS},
     2,
     1},
    {CGROUP_MEMORY, 1, "memory.oom_control", LAYOUT_KEYED, {"oom_kill"}, {CGROUP_OOM_KILLS}, 1, 1},
    {CGROUP_UNIFIED,
     2,
     "cpu.stat",
     LAYOUT_KEYED,
     {"usage_usec", "user_usec", "system_usec"},
     {CGROUP_CPU_SECONDS, CGROUP_CPU_USER_SECONDS, CGROUP_CPU_SYSTEM_SECONDS},
     3,
     USEC},
    {CGROUP_CPUACCT, 1, "cpuacct.usage", LAYOUT_NUMBER, {0}, {CGROUP_CPU_SECONDS}, 1, NSEC},
    {CGROUP_CPUACCT, 1, "cpuacct.usage_user", LAYOUT_NUMBER, {0}, {CGROUP_CPU_USER_SECONDS}, 1, NSEC},
    {CGROUP_CPUACCT, 1, "cpuacct.usage_sys", LAYOUT_NUMBER, {0}, {CGROUP_CPU_SYSTEM_SECONDS}, 1, NSEC},
    {CGROUP_CPU,
     2,
     "cpu.stat",
     LAYOUT_KEYED,
     {"throttled_usec", "nr_periods", "nr_throttled"},
     {CGROUP_THROTTLED_SECONDS, CGROUP_PERIODS, CGROUP_THROTTLED_PERIODS},
     3,
     USEC},
    {CGROUP_CPU,
     1,
     "cpu.stat",
     LAYOUT_KEYED,
     {"throttled_time", "nr_periods", "nr_throttled"},
     {CGROUP_THROTTLED_SECONDS, CGROUP_PERIODS, CGROUP_THROTTLED_PERIODS},
     3,
     NSEC},
    {CGROUP_IO, 2, "io.stat", LAYOUT_IO_STAT, {0}, {CGROUP_READ_BYTES, CGROUP_WRITE_BYTES}, 2, 1},
    {CGROUP_IO,
     1,
     "blkio.throttle.io_service_bytes_recursive",
     LAYOUT_BLKIO,
     {0},
     {CGROUP_READ_BYTES, CGROUP_WRITE_BYTES},
     2,
     1},
    {CGROUP_PIDS, 2, "pids.peak", LAYOUT_NUMBER, {0}, {CGROUP_PIDS_PEAK}, 1, 1},
    {CGROUP_PIDS, 1, "pids.peak", LAYOUT_NUMBER, {0}, {CGROUP_PIDS_PEAK}, 1, 1},
    {CGROUP_UNIFIED,
     2,
     "cpu.pressure",
     LAYOUT_PRESSURE,
     {0},
     {CGROUP_PSI_CPU_SOME, CGROUP_PSI_CPU_FULL},
     2,
     1},
    {CGROUP_UNIFIED,
     2,
     "memory.pressure",
     LAYOUT_PRESSURE,
     {0},
     {CGROUP_PSI_MEMORY_SOME, CGROUP_PSI_MEMORY_FULL},
     2,
     1},
    {CGROUP_UNIFIED, 2, "io.pressure", LAYOUT_PRESSURE, {0}, {CGROUP_PSI_IO_SOME, CGROUP_PSI_IO_FULL}, 2, 1},
};
#define FILE_COUNT (sizeof(files) / sizeof(files[0]))

/* How a peak came to be ours alone. */
enum peak_kind {
    PEAK_PLAIN, /* no peak, or one that began with the run: read as it is */
    PEAK_GROWN, /* may be older than the run: counts once it exceeds what it was */
    PEAK_RESET, /* reset at each reading, in an own leaf. v1: for everybody; v2 (Linux 6.12): for this
                 * descriptor, but others that are reset too lose what they had (peak_write() in
                 * mm/memcontrol.c): so it is nothing to do in a group that others may watch. The largest is
                 * kept here */
};

struct open_file {
    const struct group_file *file;
    struct kept_file kept;
    enum peak_kind kind;
    double baseline;
};

struct cgroup_reader {
    struct open_file open[FILE_COUNT];
    size_t count;
    double largest;   /* PEAK_RESET: of all readings so far */
    bool is_new_leaf; /* and nothing was read of it yet */
    char text[TEXT_SIZE];
};

static uint32_t facts_of(const struct group_file *file)
{
    uint32_t bits = 0;
    for (unsigned i = 0; i < file->fact_count; i++)
        bits |= CGROUP_FACT(file->facts[i]);
    return bits;
}

/* Throttling is counted where the quota is: in the nearest group that has one, whether or not the cpu
 * controller reaches down to ours. Without one, in our own group: it may be set while we run. */
static const char *throttled_folder(const struct cgroup_target *target, int *version, const char **reason,
                                    char above[CGROUP_FOLDER_SIZE])
{
    const struct cgroup_spot *spots = target->place.spots;
    const struct cgroup_spot *spot = spots[CGROUP_CPU].version ? &spots[CGROUP_CPU] : &spots[CGROUP_UNIFIED];
    const char *own = cgroup_target_folder(target, CGROUP_CPU, version, reason);
    double cpus;

    if (target->scope == CGROUP_SCOPE_NONE || !spot->version ||
        snprintf(above, CGROUP_FOLDER_SIZE, "%s", spot->folder) >= CGROUP_FOLDER_SIZE)
        return own;
    do {
        if (cgroup_group_quota(above, spot->version, &cpus)) {
            *version = spot->version;
            *reason = NULL;
            return above;
        }
    } while (cgroup_spot_ascend(spot, above));
    return own;
}

enum found { FOUND_NOT, FOUND_PATH, FOUND_LATER }; /* later: in a leaf that a run would make */

/* The path of a file of the target's group; why there is none, if that can be said. */
static enum found file_path(const struct cgroup_target *target, const struct group_file *file,
                            char path[CGROUP_PATH_SIZE], const char **reason)
{
    char above[CGROUP_FOLDER_SIZE];
    int version;
    const char *folder = file->controller == CGROUP_CPU
                             ? throttled_folder(target, &version, reason, above)
                             : cgroup_target_folder(target, file->controller, &version, reason);

    if (version != file->version || *reason)
        return FOUND_NOT;
    if (!folder)
        return target->look_only ? FOUND_LATER : FOUND_NOT;
    return cgroup_group_path(folder, file->name, path) ? FOUND_PATH : FOUND_NOT;
}

/* Kernels before 5.13 have no line "full" for the CPU of a group. */
static bool tells_full(const char *path)
{
    char text[512];
    struct pressure pressure;
    ssize_t length = file_read(AT_FDCWD, path, text, sizeof(text));

    return length > 0 && pressure_parse(text, (size_t)length, &pressure) == 0 && pressure.has_full;
}

/* The facts that a file of the group can be read for here. */
static uint32_t facts_to_be_had(const struct cgroup_target *target, const struct group_file *file,
                                const char *path)
{
    uint32_t facts = facts_of(file);

    if (file->facts[0] == CGROUP_MEM_INTERVAL_PEAK) {
        /* By opening it: a file without a way to write it refuses even root. */
        int fd = target->scope == CGROUP_SCOPE_OWN ? open(path, O_RDWR | O_CLOEXEC) : -1;
        if (fd >= 0)
            (void)close(fd);
        return fd >= 0 ? facts : 0;
    }
    if (access(path, R_OK) != 0)
        return 0;
    if ((facts & CGROUP_FACT(CGROUP_PSI_CPU_FULL)) && !tells_full(path))
        facts &= ~CGROUP_FACT(CGROUP_PSI_CPU_FULL);
    return facts;
}

static const char *no_file_reason(enum cgroup_fact fact)
{
    switch (fact) {
    case CGROUP_MEM_PEAK:
        return "the kernel has no memory.peak (from Linux 5.19)";
    case CGROUP_MEM_INTERVAL_PEAK:
        return "the peak cannot be reset here (v1: in an own leaf; v2: from Linux 6.12, where memory.peak "
               "may be written)";
    case CGROUP_PIDS_PEAK:
        return "the kernel has no pids.peak (from Linux 6.1)";
    case CGROUP_OOM_EVENTS:
        return "cgroup v1 does not count OOM events, only kills";
    case CGROUP_THROTTLED_SECONDS:
    case CGROUP_PERIODS:
    case CGROUP_THROTTLED_PERIODS:
        return "the group metron was started in has no cpu.stat of the cpu controller";
    case CGROUP_PSI_CPU_FULL:
        return "the kernel does not tell 'full' for the CPU of a group (from Linux 5.13)";
    default:
        return "the kernel does not have this file for the group";
    }
}

/* A file of a leaf that is not made: the group above it has the same, unless it is a root. */
static bool parent_has(const struct cgroup_target *target, const struct group_file *file)
{
    const struct cgroup_spot *spot =
        &target->place.spots[file->version == 2 ? CGROUP_UNIFIED : file->controller];
    char path[CGROUP_PATH_SIZE];

    return spot->is_root || (cgroup_group_path(spot->folder, file->name, path) && access(path, R_OK) == 0);
}

void cgroup_reader_survey(const struct cgroup_target *target, const char *reasons[CGROUP_FACT_COUNT])
{
    char path[CGROUP_PATH_SIZE];
    uint32_t told = 0;

    for (unsigned fact = 0; fact < CGROUP_FACT_COUNT; fact++)
        reasons[fact] = NULL;
    for (size_t i = 0; i < FILE_COUNT; i++) {
        const struct group_file *file = &files[i];
        const char *reason = NULL;
        enum found found = file_path(target, file, path, &reason);
        if (found == FOUND_PATH)
            told |= facts_to_be_had(target, file, path);
        else if (found == FOUND_LATER && parent_has(target, file))
            told |= facts_of(file);
        for (unsigned j = 0; reason && j < file->fact_count; j++)
            reasons[file->facts[j]] = reason;
    }
    for (unsigned fact = 0; fact < CGROUP_FACT_COUNT; fact++) {
        if (told & CGROUP_FACT(fact))
            reasons[fact] = NULL;
        else if (!reasons[fact])
            reasons[fact] = no_file_reason((enum cgroup_fact)fact);
    }
}

static bool read_text(struct cgroup_reader *reader, const struct open_file *open_file, size_t *length)
{
    ssize_t got = kept_file_read(&open_file->kept, reader->text, sizeof(reader->text));

    *length = got > 0 ? (size_t)got : 0;
    return got >= 0;
}

static bool read_number(struct cgroup_reader *reader, const struct open_file *open_file, double scale,
                        double *value)
{
    uint64_t number;
    size_t length;

    if (!read_text(reader, open_file, &length) || cgroup_number_parse(reader->text, length, &number) < 0)
        return false;
    *value = (double)number * scale;
    return true;
}

/* To what is charged now. */
static bool reset_peak(const struct open_file *open)
{
    return pwrite(open->kept.fd, "0", 1, 0) == 1;
}

/* From here on the peak is the run's own, by one way or another; false: it cannot be had. */
static bool settle_peak(struct cgroup_reader *reader, const struct cgroup_target *target,
                        struct open_file *open)
{
    enum cgroup_fact fact = open->file->facts[0];
    bool own = target->scope == CGROUP_SCOPE_OWN;

    if (fact != CGROUP_MEM_PEAK && fact != CGROUP_MEM_INTERVAL_PEAK && fact != CGROUP_PIDS_PEAK)
        return true;
    if (fact == CGROUP_MEM_INTERVAL_PEAK) {
        open->kind = PEAK_RESET;
        return own && reset_peak(open);
    }
    if (own)
        return true;
    open->kind = PEAK_GROWN;
    return read_number(reader, open, 1, &open->baseline);
}

/* The file that is reset must stay open, and is the only one that is ever written to. */
static bool open_one(struct open_file *open_file, const char *path)
{
    open_file->kept = (struct kept_file)KEPT_FILE_NONE;
    if (open_file->file->facts[0] != CGROUP_MEM_INTERVAL_PEAK)
        return kept_file_open(&open_file->kept, path) == 0;
    open_file->kept.fd = open(path, O_RDWR | O_CLOEXEC);
    return open_file->kept.fd >= 0;
}

struct cgroup_reader *cgroup_reader_new(const struct cgroup_target *target, uint32_t wanted)
{
    struct cgroup_reader *reader = calloc(1, sizeof(*reader));
    char path[CGROUP_PATH_SIZE];
    const char *reason;

    if (!reader)
        return NULL;
    reader->is_new_leaf = target->scope == CGROUP_SCOPE_OWN;
    for (size_t i = 0; i < FILE_COUNT; i++) {
        struct open_file *open_file = &reader->open[reader->count];
        if (!(facts_of(&files[i]) & wanted) || file_path(target, &files[i], path, &reason) != FOUND_PATH)
            continue;
        *open_file = (struct open_file){.file = &files[i]};
        if (!open_one(open_file, path))
            continue;
        if (settle_peak(reader, target, open_file))
            reader->count++;
        else
            kept_file_close(&open_file->kept);
    }
    return reader;
}

void cgroup_reader_free(struct cgroup_reader *reader)
{
    if (!reader)
        return;
    for (size_t i = 0; i < reader->count; i++)
        kept_file_close(&reader->open[i].kept);
    free(reader);
}

static void put(struct cgroup_facts *out, enum cgroup_fact fact, double value)
{
    out->values[fact] = value;
    out->present |= CGROUP_FACT(fact);
}

static void read_peak(struct cgroup_reader *reader, struct open_file *open, struct cgroup_facts *out)
{
    double value;

    if (!read_number(reader, open, open->file->scale, &value))
        return;
    if (open->kind == PEAK_GROWN && value <= open->baseline)
        return;
    if (open->kind == PEAK_RESET) {
        if (value > reader->largest)
            reader->largest = value;
        (void)reset_peak(open);
    }
    put(out, open->file->facts[0], value);
}

/* Not one device has been counted. */
static bool is_blank_blkio(const char *text, size_t length)
{
    return length == 0 || text[0] == 'T'; /* "Total 0" */
}

static void read_file(struct cgroup_reader *reader, struct open_file *open, struct cgroup_facts *out)
{
    const struct group_file *file = open->file;
    uint64_t values[FILE_FACTS] = {0};
    struct pressure pressure;
    size_t length;
    int found = 0;

    if (file->layout == LAYOUT_NUMBER) {
        read_peak(reader, open, out);
        return;
    }
    if (!read_text(reader, open, &length))
        return;
    switch (file->layout) {
    case LAYOUT_KEYED:
        found = cgroup_keyed_parse(reader->text, length, file->keys, file->fact_count, values);
        break;
    case LAYOUT_IO_STAT:
        found = cgroup_io_stat_parse(reader->text, length, &values[0], &values[1]) == 0 ? 3 : 0;
        break;
    case LAYOUT_BLKIO:
        /* Some kernels count nothing here, and never show a device: that is no 0 but for a leaf just made. */
        if (is_blank_blkio(reader->text, length) && !reader->is_new_leaf)
            return;
        found = cgroup_blkio_parse(reader->text, length, &values[0], &values[1]) == 0 ? 3 : 0;
        break;
    case LAYOUT_PRESSURE:
        if (pressure_parse(reader->text, length, &pressure) < 0)
            return;
        if (pressure.has_some)
            put(out, file->facts[0], pressure.some_seconds);
        if (pressure.has_full)
            put(out, file->facts[1], pressure.full_seconds);
        return;
    case LAYOUT_NUMBER:
        return;
    }
    for (unsigned i = 0; found > 0 && i < file->fact_count; i++)
        if (found & (1 << i)) {
            bool is_count = file->facts[i] == CGROUP_PERIODS || file->facts[i] == CGROUP_THROTTLED_PERIODS;
            put(out, file->facts[i], (double)values[i] * (is_count ? 1 : file->scale));
        }
}

void cgroup_reader_read(struct cgroup_reader *reader, struct cgroup_facts *out)
{
    out->present = 0;
    for (size_t i = 0; i < reader->count; i++)
        read_file(reader, &reader->open[i], out);
    reader->is_new_leaf = false;
    if ((out->present & CGROUP_FACT(CGROUP_MEM_PEAK)) && reader->largest > out->values[CGROUP_MEM_PEAK])
        put(out, CGROUP_MEM_PEAK, reader->largest);
}
