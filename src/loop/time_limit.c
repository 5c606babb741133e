#include "loop/time_limit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "probe/digits.h"
#include "probe/pid/stat.h"

/* The clocks of the scheduler and of this machine differ; a scheduler looks at its jobs every minute or so.
 * One that is ended much later was given more time than its environment says. */
static const double early_seconds = 5, late_seconds = 600;

static const struct {
    const char *name;
    bool is_duration; /* seconds that the job may run, not unix seconds */
} variables[] = {
    {"SLURM_JOB_END_TIME", false},
    {"COBALT_ENDTIME", false},
    {"PBS_WALLTIME", true}, /* Torque */
    {"OAR_JOB_WALLTIME_SECONDS", true},
};

/* 0: it is not there, or no whole number. */
static double number_of(const char *name)
{
    const char *text = getenv(name);
    uint64_t value;

    if (!text || digits_read(text, text + strlen(text), &value) != text + strlen(text))
        return 0;
    return (double)value;
}

struct time_limit time_limit_find(double session_start)
{
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        double value = number_of(variables[i].name);

        if (value > 0 && (!variables[i].is_duration || session_start > 0))
            return (struct time_limit){variables[i].name,
                                       value + (variables[i].is_duration ? session_start : 0)};
    }
    return (struct time_limit){0};
}

double time_limit_session_start(const char *proc_root)
{
    char path[PATH_MAX], text[PID_STAT_SIZE];
    struct pid_stat stat;

    (void)snprintf(path, sizeof(path), "%s/%d/stat", proc_root, (int)getsid(0));
    ssize_t length = file_read(AT_FDCWD, path, text, sizeof(text));
    if (length <= 0 || pid_stat_parse(text, (size_t)length, &stat) < 0)
        return 0;
    double age = clock_boot_seconds() - (double)stat.start_ticks / (double)clock_ticks_per_second();
    return clock_wall_seconds() - age;
}

bool time_limit_explains(const struct time_limit *limit, double wall)
{
    return limit->source && wall >= limit->end_wall - early_seconds && wall <= limit->end_wall + late_seconds;
}
