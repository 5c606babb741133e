/*
 * A run that belongs to a job tells the daemon of itself, if there is one: the job, its sheet, the command's
 * process, and how it ended. Without a daemon, or with one that does not answer at once, everything else is
 * as it would be.
 */
#ifndef METRON_CMD_REGISTRATION_H
#define METRON_CMD_REGISTRATION_H

#include <stdbool.h>
#include <sys/types.h>

#include "schema/run_info.h"
#include "settings/settings.h"

struct registration {
    struct client *client; /* NULL: there is no daemon, or no job */
    const char *job;
    const char *socket; /* NULL: where it is by default */
    bool has_sheet;
    bool start_is_unanswered; /* job.start: the daemon may yet begin the job */
    bool began_job;           /* and so ends it */
    bool told_sheet;          /* likewise */
    bool is_nested;           /* this one runs within another run, whose the sheet or the job is */
    bool own_cgroup;          /* the command is in a control group of its own */
    long long sheet;
    const struct settings *settings;
    const struct run_info *info; /* the run's: complete once it has ended */
};

/* Looks for the daemon, if the settings name a job. */
void registration_begin(struct registration *registration, const struct settings *settings,
                        const struct run_info *info, bool own_cgroup);
/* The command runs. `context` is a registration. */
void registration_started(void *context, pid_t pid);
/* It has ended: the daemon gets what the run knows of itself, and reads the control group, which is still
 * there, once more. Also frees what is held. */
void registration_end(struct registration *registration);

#endif
