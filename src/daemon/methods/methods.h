/*
 * Inside daemon/: the answers of the socket, by file.
 */
#ifndef METRON_DAEMON_METHODS_METHODS_H
#define METRON_DAEMON_METHODS_METHODS_H

#include "base/error.h"
#include "daemon/socket/call.h"
#include "schema/job.h"

#define SIGNAL_MAX 64

/* jobs.c */
call_answer answer_job_start, answer_job_finish, answer_job_list, answer_job_status;
/* profile.c */
call_answer answer_job_profile, answer_job_report;
/* events.c */
call_answer answer_event_publish;
/* last_events.c */
call_answer answer_last_events;
/* history.c */
call_answer answer_snapshots, answer_process_history;
/* trace.c */
call_answer answer_trace_start, answer_trace_stop;

/* Refuses: there is no such job. */
int call_no_such_job(struct call *call, const char *job_id);
/* 0, or refuses: the job is another user's. */
int call_check_owner(struct call *call, const char *job_id);
/* 0, or refuses: the process (0: none) is another user's. */
int call_check_process(struct call *call, pid_t pid);
/* What a client reports that a job or sheet has used; refuses what cannot be. */
int call_take_usage(struct call *call, const struct json_text *usage, struct job_usage *out);
/* Refuses for the reason that jobs.h gave, with what to do about it. */
int call_refuse_job(struct call *call, const char *job_id, const struct metron_error *error);

#endif
