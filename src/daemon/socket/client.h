/*
 * The other end of the socket: a small client that waits for its answers. No loop, no thread, no library; a
 * program that asks one thing has its answer, or knows that there is no daemon, in well under a millisecond.
 *
 *     struct client *client;
 *     struct strbuf result = STRBUF_INIT;
 *
 *     if (client_connect(NULL, 0, &client, &error) == 0) {
 *         code = client_call(client, "job.status", "{\"job_id\":\"night\"}", &result, &error);
 *         …
 *         client_free(client);
 *     }
 *
 * The daemon must be this user's or root's: who listens is asked of the kernel once connected.
 */
#ifndef METRON_DAEMON_SOCKET_CLIENT_H
#define METRON_DAEMON_SOCKET_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"

#define CLIENT_TIMEOUT_MS 5000

struct client;

/* `path` NULL or "": where the user's daemon is, then where root's is (socket_path.h). `timeout_ms` holds for
 * connecting and for each call; 0: CLIENT_TIMEOUT_MS. -ENOENT, -ECONNREFUSED: there is no daemon (then
 * client_is_absent); -EACCES: it is another user's; -ETIMEDOUT. */
int client_connect(const char *path, int timeout_ms, struct client **out, struct metron_error *error);
/* The same over a connected socket, which is the client's from now on, also on failure. `path` names it in
 * messages. */
int client_over(int fd, const char *path, int timeout_ms, struct client **out, struct metron_error *error);
void client_free(struct client *client);                        /* NULL is nothing */
void client_set_timeout(struct client *client, int timeout_ms); /* of the calls from now on; not 0 */
/* Whether this code of client_connect says that no daemon runs, which need not be an error. */
bool client_is_absent(int code);

/* Sends a request and waits for its answer. `params`: an object as JSON; NULL: none. `result` gets the JSON
 * of the result (what it held before is dropped); NULL: it is not wanted. An error of the daemon is a
 * negative code (rpc_errno, protocol.h) and its message and hint in one line. -ETIMEDOUT: no answer in
 * time; the daemon may yet do what it was asked for, and its answer is thrown away by the next call.
 * -ECONNRESET: the daemon has gone. */
int client_call(struct client *client, const char *method, const char *params, struct strbuf *result,
                struct metron_error *error);
/* Begins a stream (daemon.monitor.stream): what happens from when it returns comes as notifications.
 * `params`, codes: as client_call. */
int client_subscribe(struct client *client, const char *params, struct metron_error *error);
/* Sends a request that nobody answers (a notification), behind those before it. */
int client_post(struct client *client, const char *method, const char *params, struct metron_error *error);
/* Waits once more for the answer to the last call, which ended with -ETIMEDOUT. All
 * else as client_call. */
int client_late_answer(struct client *client, struct strbuf *result, struct metron_error *error);
/* The code of JSON-RPC that the last call failed with; 0: it did not, or for another reason. */
int client_rpc_code(const struct client *client);

/* Waits for the next notification of a stream, `timeout_ms` at most (negative: for ever), and puts its method
 * and its params' JSON into both (either may be NULL). 1; 0: none came; negative: as client_call, and -EINTR
 * if a signal came; -ECONNRESET also when the daemon has ended the stream. Those that came during a call are
 * kept, 8 MiB of them. */
int client_next_notification(struct client *client, int timeout_ms, struct strbuf *method,
                             struct strbuf *params, struct metron_error *error);

pid_t client_daemon_pid(const struct client *client); /* 0: not to be seen from here */
int client_fd(const struct client *client);           /* to wait on with others; readable: try next with 0 */

#endif
