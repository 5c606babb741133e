/*
 * trace.start and trace.stop: every system call of a process and its descendants, into a file.
 *
 * The file is the daemon's user's, and so is the right to trace: members of the socket's group may look at
 * command lines, which is less than what programs read and write.
 */
#include <unistd.h>

#include "daemon/daemon_state.h"
#include "daemon/methods/methods.h"

static int take_pid(struct call *call, pid_t *pid)
{
    const struct call_peer peer = call_peer(call);
    int64_t number = 0;

    if (peer.uid != 0 && peer.uid != geteuid())
        return call_fail(call, RPC_NOT_PERMITTED, "trace your own processes with: metron trace PID",
                         "only root and the daemon's own user may have it trace");
    if (call_integer(call, "pid", &number) != PARAM_FOUND || number < 1 || number > INT32_MAX)
        return call_wrong(call, "pid", "a process's number");
    *pid = (pid_t)number;
    return 0;
}

int answer_trace_start(struct call *call, struct json *result)
{
    struct daemon *daemon = call_context(call);
    pid_t pid = 0;
    int code = take_pid(call, &pid);

    (void)result;
    return code < 0 ? code : traces_start(daemon->traces, call, pid);
}

int answer_trace_stop(struct call *call, struct json *result)
{
    struct daemon *daemon = call_context(call);
    pid_t pid = 0;
    int code = take_pid(call, &pid);

    (void)result;
    return code < 0 ? code : traces_stop(daemon->traces, call, pid);
}
