/*
 * Inside daemon/: what the daemon is made of. daemon.c runs it, methods/ answers for it.
 */
#ifndef METRON_DAEMON_DAEMON_STATE_H
#define METRON_DAEMON_DAEMON_STATE_H

#include "daemon/calls/counting.h"
#include "daemon/commits.h"
#include "daemon/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/jobs/pss.h"
#include "daemon/recent_events.h"
#include "daemon/socket/server.h"
#include "daemon/traces/traces.h"
#include "loop/watch.h"
#include "publish/bus.h"
#include "store/history/history.h"
#include "store/snapshot_log.h"
#include "store/writer.h"

/* Between two ticks, for exits at the end of jobs: nobody else is answered meanwhile. A busy machine may need
 * all of it until a process that has exited leaves its CPU, an idle one a millisecond. */
#define DAEMON_PATIENCE_NS (NS_PER_SECOND / 2)

struct daemon {
    struct daemon_options options;
    uv_loop_t loop;
    bool loop_open;
    struct watch *watch;
    struct jobs *jobs;
    struct jobs_pss *pss;
    struct traces *traces;
    struct counting *counting; /* NULL: system calls are not counted */
    struct bus *bus;
    struct server *server;
    struct history *history; /* the writer's, once that runs */
    struct snapshot_log *log;
    struct writer *writer;
    struct commits *commits; /* answers that wait for it */
    struct snapshot *latest; /* NULL: none yet */
    struct recent_events events;
    struct timespec last_heard; /* of the daemon before this one */
    bool restores_later;        /* its jobs: the history cannot be opened yet */
    bool unsettled;             /* they were restored, and no pass was made since */
    uint64_t patience_ns;       /* left until the next tick, for exits at the end of jobs (tree_await_exit) */
    bool stopping, abrupt;
    bool unreachable;   /* its socket is gone and cannot be made anew: logged */
    struct strbuf text; /* scratch */
};

extern const struct call_method daemon_methods[];
extern const size_t daemon_method_count;

/* -- publish.c -- */
/* Something happened to a job: for the subscribers. `data`: an object as JSON, or NULL. Starts and ends of
 * jobs and sheets are also remembered (daemon.events) and stored. */
void daemon_publish(struct daemon *daemon, const char *event, const char *job_id, bool has_sheet,
                    int64_t sheet_num, const char *data);
/* Those of processes that were not published yet. `is_tick`: all of them; else without those of processes
 * that no pass has read, which are behind told_count then. */
void daemon_publish_snapshot_events(struct daemon *daemon, struct snapshot *snapshot, bool is_tick);
/* job.finished, with how it ended. */
void daemon_publish_finished(struct daemon *daemon, const struct job *job);
/* Before the end of a job or sheet: its process may have exited a moment ago, which is to be known first. All
 * ends between two ticks wait for DAEMON_PATIENCE_NS together. */
void daemon_await_exit(struct daemon *daemon, const char *job_id, bool has_sheet, int64_t sheet_num);
/* -- methods/methods.c -- */
/* rss_mb, cpu_pct, …: what is known of a process, or of the machine if `pid` is 0; the members of an object.
 */
void daemon_context_json(const struct daemon *daemon, struct json *json, pid_t pid);

#endif
