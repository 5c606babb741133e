/*
 * Parsers of what the kernel writes about cgroups. Each takes bytes and a length and needs no NUL; a number
 * or a name counts only with the byte that ends it, because half a path is the path of another group.
 */
#include "probe/cgroup/files.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/strbuf.h"
#include "probe/digits.h"

#define KEYS_MAX 31

/* v1 writes "no limit" as the largest number of whole pages below 2^63 (PAGE_COUNTER_MAX in
 * include/linux/page_counter.h); 16 MiB is larger than any page. Before Linux 3.19 it was 2^63 - 1 itself. */
#define V1_NO_LIMIT_FROM ((UINT64_C(1) << 63) - (UINT64_C(16) << 20))
#define V1_NO_LIMIT_END  (UINT64_C(1) << 63)

static bool text_is(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

static void add_saturated(uint64_t *sum, uint64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        *sum = UINT64_MAX;
}

bool cgroup_list_has(const char *list, size_t length, const char *name)
{
    const char *end = list + length;

    while (list < end) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        const char *word_end = comma != NULL ? comma : end;

        if (text_is(list, (size_t)(word_end - list), name))
            return true;
        list = word_end + 1;
    }
    return false;
}

/*
 * /proc/PID/cgroup, proc_cgroup_show() in kernel/cgroup/cgroup.c, a line for each hierarchy:
 *
 *   4:cpu,cpuacct:/slurm/job_1\n
 *   1:name=systemd:/user.slice\n
 *   0::/user.slice\n
 *
 * hierarchy, controllers, path. The path may hold colons, never a newline (cgroup_mkdir() refuses it); a
 * removed v2 group has " (deleted)" behind it.
 */
int cgroup_membership_parse(const char *text, size_t length,
                            void (*visit)(void *context, const struct cgroup_membership *line), void *context)
{
    const char *line = text, *end = text + length, *line_end;
    int count = 0;

    for (; (line_end = line_end_of(line, end)) != NULL; line = line_end + 1) {
        struct cgroup_membership membership;
        const char *at, *colon;
        uint64_t hierarchy;

        at = digits_read(line, line_end, &hierarchy);
        if (at == NULL || at == line_end || *at != ':' || hierarchy > INT_MAX)
            return -EBADMSG;
        at++;
        colon = memchr(at, ':', (size_t)(line_end - at));
        if (colon == NULL || colon + 1 == line_end || colon[1] != '/' ||
            memchr(colon, '\0', (size_t)(line_end - colon)) != NULL)
            return -EBADMSG;
        membership = (struct cgroup_membership){
            .hierarchy = (unsigned)hierarchy,
            .controllers = at,
            .controllers_length = (size_t)(colon - at),
            .path = colon + 1,
            .path_length = (size_t)(line_end - colon - 1),
        };
        visit(context, &membership);
        count++;
    }
    return line < end ? -EBADMSG : count;
}

static bool is_octal(char byte)
{
    return byte >= '0' && byte <= '7';
}

/* Appends a field and a NUL; \040 and the like become the byte they stand for. A NUL byte or one past 255
 * never comes from the kernel and is left as it stands. */
static void unescaped_add(struct strbuf *out, const char *at, const char *end)
{
    while (at < end) {
        if (*at == '\\' && end - at >= 4 && is_octal(at[1]) && is_octal(at[2]) && is_octal(at[3])) {
            int byte = (at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0');

            if (byte > 0 && byte <= UCHAR_MAX) {
                strbuf_addc(out, (char)byte);
                at += 4;
                continue;
            }
        }
        strbuf_addc(out, *at++);
    }
    strbuf_addc(out, '\0');
}

/* Where the field at `at` ends: at a space, or at `end`. */
static const char *field_end(const char *at, const char *end)
{
    const char *space = at < end ? memchr(at, ' ', (size_t)(end - at)) : NULL;

    return space != NULL ? space : end;
}

/* One line, whose part behind " - " begins at `tail`. Returns 1 if it was visited, 0 if it is of another file
 * system. */
static int mount_line(const char *line, const char *tail, const char *line_end, struct strbuf *scratch,
                      void (*visit)(void *context, const struct cgroup_mount *mount), void *context)
{
    const char *type_end = field_end(tail, line_end), *options, *root, *point;
    struct cgroup_mount mount = {0};
    size_t point_offset, options_offset;

    if (text_is(tail, (size_t)(type_end - tail), "cgroup2"))
        mount.version = 2;
    else if (text_is(tail, (size_t)(type_end - tail), "cgroup"))
        mount.version = 1;
    else
        return 0;

    /* The source, after the type, may be empty: fields are parted by one space, not by any number. */
    options = type_end < line_end ? field_end(type_end + 1, line_end) : line_end;
    root = line;
    for (int skipped = 0; skipped < 3 && root < tail; skipped++)
        root = field_end(root, tail) + 1;
    point = root < tail ? field_end(root, tail) + 1 : tail;
    if (options == line_end || point >= tail || *root != '/' || *point != '/')
        return -EBADMSG;

    strbuf_reset(scratch);
    unescaped_add(scratch, root, field_end(root, tail));
    point_offset = scratch->length;
    unescaped_add(scratch, point, field_end(point, tail));
    options_offset = scratch->length;
    strbuf_add(scratch, options + 1, (size_t)(line_end - options - 1));
    strbuf_addc(scratch, '\0');
    if (scratch->failed)
        return -ENOMEM;
    mount.root = scratch->data;
    mount.point = scratch->data + point_offset;
    mount.options = scratch->data + options_offset;
    visit(context, &mount);
    return 1;
}

/*
 * /proc/PID/mountinfo, show_mountinfo() in fs/proc_namespace.c:
 *
 *   33 25 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:12 - cgroup cgroup rw,cpu,cpuacct\n
 *   36 31 0:38 /docker/4f /sys/fs/cgroup ro,relatime - cgroup2 cgroup2 rw,nsdelegate\n
 *
 * id, parent, device, root, mount point, options, any number of tags, "-", type, source, options of the file
 * system. Space, tab, newline and backslash are written \040, \011, \012, \134, so " - " is found safely. A
 * line that is none (some file systems once wrote their options unescaped) is passed over.
 */
int cgroup_mounts_parse(const char *text, size_t length,
                        void (*visit)(void *context, const struct cgroup_mount *mount), void *context)
{
    const char *line = text, *end = text + length, *line_end;
    struct strbuf scratch = STRBUF_INIT;
    int count = 0, visited = 0;

    for (; visited >= 0 && (line_end = line_end_of(line, end)) != NULL; line = line_end + 1) {
        const char *separator = memmem(line, (size_t)(line_end - line), " - ", 3);

        if (separator == NULL)
            continue;
        visited = mount_line(line, separator + 3, line_end, &scratch, visit, context);
        count += visited;
    }
    strbuf_fini(&scratch);
    if (visited < 0)
        return visited;
    return line < end ? -EBADMSG : count;
}

/*
 * Flat keyed files: memory_stat_show() and memory_events_show() in mm/memcontrol.c, cpu_stat_show() in
 * kernel/cgroup/cgroup.c, and of v1 memcg_stat_show(), mem_cgroup_oom_control_read():
 *
 *   usage_usec 118653\n
 *   user_usec 90012\n
 *
 * A last line that is cut off is not there.
 */
int cgroup_keyed_parse(const char *text, size_t length, const char *const *keys, size_t count,
                       uint64_t *values)
{
    const char *line = text, *end = text + length, *line_end;
    size_t lengths[KEYS_MAX];
    unsigned found = 0, all;

    if (count > KEYS_MAX)
        return -EINVAL;
    all = (1U << count) - 1;
    for (size_t i = 0; i < count; i++)
        lengths[i] = strlen(keys[i]);
    for (; found != all && (line_end = line_end_of(line, end)) != NULL; line = line_end + 1) {
        for (size_t i = 0; i < count; i++) {
            if ((found & 1U << i) != 0 || (size_t)(line_end - line) <= lengths[i] ||
                line[lengths[i]] != ' ' || memcmp(line, keys[i], lengths[i]) != 0)
                continue;

            uint64_t value;

            if (digits_read(line + lengths[i] + 1, line_end, &value) != line_end)
                return -EBADMSG;
            values[i] = value;
            found |= 1U << i;
            break;
        }
    }
    return (int)found;
}

uint64_t cgroup_limit_of(uint64_t number)
{
    return number >= V1_NO_LIMIT_FROM && number < V1_NO_LIMIT_END ? CGROUP_NO_LIMIT : number;
}

/* memory.max and pids.max, seq_puts_memcg_tunable() in mm/memcontrol.c: "max\n" or "1073741824\n"; v1's
 * numbers, mem_cgroup_read_u64(): always digits. */
int cgroup_number_parse(const char *text, size_t length, uint64_t *value)
{
    const char *end;
    uint64_t number;

    if (length == 0 || text[length - 1] != '\n')
        return -EBADMSG;
    end = text + length - 1;
    if (text_is(text, length - 1, "max")) {
        *value = CGROUP_NO_LIMIT;
        return 0;
    }
    if (digits_read(text, end, &number) != end)
        return -EBADMSG;
    *value = cgroup_limit_of(number);
    return 0;
}

/* cpu.cfs_quota_us, cpu_cfs_quota_read_s64() in kernel/sched/core.c: "-1\n" or "150000\n", microseconds. */
int cgroup_quota_parse(const char *text, size_t length, uint64_t *quota)
{
    if (text_is(text, length, "-1\n")) {
        *quota = CGROUP_NO_LIMIT;
        return 0;
    }
    return cgroup_number_parse(text, length, quota);
}

/* cpu.max, cpu_period_quota_print() in kernel/sched/core.c: "max 100000\n" or "150000 100000\n". */
int cgroup_cpu_max_parse(const char *text, size_t length, uint64_t *quota, uint64_t *period)
{
    const char *end, *space;
    uint64_t first = CGROUP_NO_LIMIT, second;

    if (length == 0 || text[length - 1] != '\n')
        return -EBADMSG;
    end = text + length - 1;
    space = memchr(text, ' ', length);
    if (space == NULL)
        return -EBADMSG;
    if (!text_is(text, (size_t)(space - text), "max") && digits_read(text, space, &first) != space)
        return -EBADMSG;
    if (digits_read(space + 1, end, &second) != end || second == 0)
        return -EBADMSG;
    *quota = first;
    *period = second;
    return 0;
}

enum device_word { DEVICE_NONE, DEVICE_NAMED, DEVICE_UNKNOWN };

/* What names the row of a device: "8:16", or "(unknown)" for one that is hidden. */
static enum device_word device_word(const char *word, const char *end)
{
    uint64_t number;
    const char *at = digits_read(word, end, &number);

    if (text_is(word, (size_t)(end - word), "(unknown)"))
        return DEVICE_UNKNOWN;
    if (at == NULL || at == end || *at != ':' || digits_read(at + 1, end, &number) != end)
        return DEVICE_NONE;
    return DEVICE_NAMED;
}

/* Adds N of the word "rbytes=N" if it begins so. False if what follows is no number. */
static bool pair_add(const char *word, const char *end, const char *key, uint64_t *sum)
{
    size_t length = strlen(key);
    uint64_t number;

    if ((size_t)(end - word) < length || memcmp(word, key, length) != 0)
        return true;
    if (digits_read(word + length, end, &number) != end)
        return false;
    add_saturated(sum, number);
    return true;
}

/*
 * io.stat, blkcg_print_one_stat() in block/blk-cgroup.c:
 *
 *   8:0 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n
 *   7:7 7:6 8:16 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n
 *   252:0 (and a space: the end)
 *
 * Some kernels write the device even where it has no I/O yet, and then leave out the newline:
 * so a device may follow a device, and the text may end behind one. Other pairs (cost.usage=, …) are passed
 * over.
 */
int cgroup_io_stat_parse(const char *text, size_t length, uint64_t *read_bytes, uint64_t *write_bytes)
{
    const char *at = text, *end = text + length;
    enum device_word device = DEVICE_NONE;
    uint64_t read_sum = 0, write_sum = 0;
    bool whole = true; /* the text may end here */

    while (at < end) {
        const char *word = at;
        enum device_word named;

        while (at < end && *at != ' ' && *at != '\n')
            at++;
        if (at == end)
            return -EBADMSG;
        named = device_word(word, at);
        if (named != DEVICE_NONE) {
            device = named;
            whole = true;
        } else if (at > word) {
            if (device == DEVICE_NONE || memchr(word, '=', (size_t)(at - word)) == NULL)
                return -EBADMSG;
            whole = false;
            if (device == DEVICE_NAMED &&
                (!pair_add(word, at, "rbytes=", &read_sum) || !pair_add(word, at, "wbytes=", &write_sum)))
                return -EBADMSG;
        }
        if (*at == '\n') {
            device = DEVICE_NONE;
            whole = true;
        }
        at++;
    }
    if (!whole)
        return -EBADMSG;
    *read_bytes = read_sum;
    *write_bytes = write_sum;
    return 0;
}

/*
 * blkio.throttle.io_service_bytes_recursive, __blkg_prfill_rwstat() and blkcg_print_blkgs() in
 * block/blk-cgroup*.c:
 *
 *   8:0 Read 1459200\n
 *   8:0 Write 314773504\n
 *   8:0 Sync 3072\n           (and Async, Discard, Total: sums of the same bytes another way)
 *   Total 316232704\n         (always the last line: without it the text is not whole)
 */
int cgroup_blkio_parse(const char *text, size_t length, uint64_t *read_bytes, uint64_t *write_bytes)
{
    const char *line = text, *end = text + length, *line_end;
    uint64_t read_sum = 0, write_sum = 0, number;
    bool whole = true; /* the text may end here */

    for (; (line_end = line_end_of(line, end)) != NULL; line = line_end + 1) {
        const char *first_end, *second_end;
        enum device_word device;

        first_end = field_end(line, line_end);
        whole = text_is(line, (size_t)(first_end - line), "Total");
        second_end = whole ? first_end : field_end(first_end + 1, line_end);
        device = device_word(line, first_end);
        if (second_end >= line_end || digits_read(second_end + 1, line_end, &number) != line_end ||
            (!whole && device == DEVICE_NONE))
            return -EBADMSG;
        if (device != DEVICE_NAMED)
            continue;
        if (text_is(first_end + 1, (size_t)(second_end - first_end - 1), "Read"))
            add_saturated(&read_sum, number);
        else if (text_is(first_end + 1, (size_t)(second_end - first_end - 1), "Write"))
            add_saturated(&write_sum, number);
    }
    if (!whole || line < end)
        return -EBADMSG;
    *read_bytes = read_sum;
    *write_bytes = write_sum;
    return 0;
}
