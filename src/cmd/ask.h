/* Questions to the daemon, for commands that talk to it. */
#ifndef METRON_CMD_ASK_H
#define METRON_CMD_ASK_H

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "daemon/socket/client.h"
#include "settings/settings.h"

/* Sends it and waits for the answer, whose JSON goes to `result` (NULL: it is not wanted). Returns an exit
 * code; what went wrong is told. */
int ask(const struct settings *settings, const char *method, const char *params, struct strbuf *result);
/* The parameters of a question about one job; NULL: about none. */
void ask_job_params(struct strbuf *out, const char *job);
/* Whether a job of this name runs. 0, or as client_call. */
int ask_job_runs(struct client *client, const char *job, bool *runs, struct metron_error *error);

/* Members of job.start that tell more of a job than its name. `folder`: its workspace, if no setting names
 * another. */
void ask_job_labels(struct json *json, const struct settings *settings, const char *folder);

#endif
