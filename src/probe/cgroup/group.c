#include "probe/cgroup/group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "probe/cgroup/files.h"

bool cgroup_group_path(const char *folder, const char *name, char path[CGROUP_PATH_SIZE])
{
    return snprintf(path, CGROUP_PATH_SIZE, "%s/%s", folder, name) < CGROUP_PATH_SIZE;
}

ssize_t cgroup_group_read(const char *folder, const char *name, char *text, size_t size)
{
    char path[CGROUP_PATH_SIZE];

    if (!cgroup_group_path(folder, name, path))
        return -ENAMETOOLONG;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t length = read(fd, text, size - 1);
    int code = errno;
    (void)close(fd);
    if (length < 0)
        return -code;
    text[length] = '\0';
    return length;
}

bool cgroup_group_number(const char *folder, const char *name, uint64_t *value)
{
    char text[64];
    ssize_t length = cgroup_group_read(folder, name, text, sizeof(text));

    return length > 0 && cgroup_number_parse(text, (size_t)length, value) == 0;
}

bool cgroup_group_quota(const char *folder, int version, double *cpus)
{
    char text[64];
    uint64_t quota = CGROUP_NO_LIMIT, period = 0;
    ssize_t length =
        cgroup_group_read(folder, version == 2 ? "cpu.max" : "cpu.cfs_quota_us", text, sizeof(text));

    if (length <= 0)
        return false;
    int code = version == 2 ? cgroup_cpu_max_parse(text, (size_t)length, &quota, &period)
                            : cgroup_quota_parse(text, (size_t)length, &quota);
    if (code < 0 || quota == CGROUP_NO_LIMIT)
        return false;
    if (version == 1 && !cgroup_group_number(folder, "cpu.cfs_period_us", &period))
        return false;
    *cpus = (double)quota / (double)period;
    return period > 0;
}

bool cgroup_group_key(const char *folder, const char *name, const char *key, uint64_t *value)
{
    char text[8192];
    ssize_t length = cgroup_group_read(folder, name, text, sizeof(text));

    return length > 0 && cgroup_keyed_parse(text, (size_t)length, &key, 1, value) == 1;
}

bool cgroup_group_word(const char *folder, const char *name, const char *word)
{
    char text[1024];

    if (cgroup_group_read(folder, name, text, sizeof(text)) <= 0)
        return false;
    for (char *rest = text, *found; (found = strsep(&rest, " \n")) != NULL;)
        if (strcmp(found, word) == 0)
            return true;
    return false;
}

int cgroup_group_write(const char *folder, const char *name, const char *text)
{
    char path[CGROUP_PATH_SIZE];
    int code = 0;

    if (!cgroup_group_path(folder, name, path))
        return -ENAMETOOLONG;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (write(fd, text, strlen(text)) < 0)
        code = -errno;
    (void)close(fd);
    return code;
}
