#include "cmd/recorder.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "probe/pid/stat.h"
#include "store/recorder_sign.h"

static bool same_boot(const char *boot_id)
{
    char own[64];
    ssize_t length = file_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", own, sizeof(own));

    if (length <= 0)
        return false;
    own[strcspn(own, "\n")] = '\0';
    return strcmp(own, boot_id) == 0;
}

static bool lives_here(const struct recorder *recorder)
{
    char path[64], text[PID_STAT_SIZE];
    struct pid_stat stat;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)recorder->pid);
    ssize_t length = file_read(AT_FDCWD, path, text, sizeof(text));
    return length > 0 && pid_stat_parse(text, (size_t)length, &stat) == 0 &&
           stat.start_ticks == recorder->start_ticks && stat.state != 'Z';
}

static bool is_another_machine(const char *hostname)
{
    struct utsname own;

    return hostname && uname(&own) == 0 && strcmp(own.nodename, hostname) != 0;
}

bool recorder_wrote_lately(const char *usage_path, double start_wall)
{
    static const double patience = 600, gaps = 3;
    struct recorder_sign sign = {0};

    if (!usage_path || !recorder_sign_read(usage_path, &sign))
        sign.newest = start_wall; /* it may not have come to its first record */
    return sign.newest > 0 && clock_wall_seconds() - sign.newest < fmax(patience, gaps * sign.gap);
}

bool recorder_is_alive(void *context, const struct recorder *recorder)
{
    (void)context;
    if (recorder->boot_id && same_boot(recorder->boot_id))
        return lives_here(recorder);
    if (!is_another_machine(recorder->hostname))
        return false; /* it did not outlive the restart */
    return recorder_wrote_lately(recorder->usage_path, recorder->start_wall);
}
