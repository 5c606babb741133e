/* Any bytes as each of the cgroup files: the first byte chooses, so that a seed stays one file. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probe/cgroup/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const char *text;
    size_t size;
    int visits;
};

static void require(bool held)
{
    if (!held)
        abort();
}

static void on_membership(void *context, const struct cgroup_membership *line)
{
    struct input *input = context;
    const char *end = input->text + input->size;

    require(line->controllers >= input->text && line->controllers + line->controllers_length < end);
    require(line->path > line->controllers && line->path + line->path_length < end);
    require(line->path_length > 0 && line->path[0] == '/' && line->path[line->path_length] == '\n');
    (void)cgroup_list_has(line->controllers, line->controllers_length, "memory");
    input->visits++;
}

static void on_mount(void *context, const struct cgroup_mount *mount)
{
    struct input *input = context;

    require(mount->version == 1 || mount->version == 2);
    require(mount->root[0] == '/' && mount->point[0] == '/');
    require(strlen(mount->root) + strlen(mount->point) + strlen(mount->options) <= input->size);
    (void)cgroup_list_has(mount->options, strlen(mount->options), "cpuacct");
    input->visits++;
}

static void keyed(const char *text, size_t size)
{
    static const char *const keys[] = {"anon", "file", "total_rss", "usage_usec", "oom_kill"};
    uint64_t values[5];

    require(cgroup_keyed_parse(text, size, keys, 5, values) < 1 << 5);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {.text = (const char *)data + 1, .size = size - 1};
    uint64_t first, second;
    int count;

    if (size == 0)
        return 0;
    switch (data[0]) {
    case 'c':
        count = cgroup_membership_parse(input.text, input.size, on_membership, &input);
        require(count < 0 || count == input.visits);
        break;
    case 'm':
        count = cgroup_mounts_parse(input.text, input.size, on_mount, &input);
        require(count < 0 || count == input.visits);
        break;
    case 'n':
        (void)cgroup_number_parse(input.text, input.size, &first);
        (void)cgroup_quota_parse(input.text, input.size, &first);
        break;
    case 'q':
        if (cgroup_cpu_max_parse(input.text, input.size, &first, &second) == 0)
            require(second > 0);
        break;
    case 'i':
        (void)cgroup_io_stat_parse(input.text, input.size, &first, &second);
        break;
    case 'b':
        (void)cgroup_blkio_parse(input.text, input.size, &first, &second);
        break;
    default:
        keyed(input.text, input.size);
    }
    return 0;
}
