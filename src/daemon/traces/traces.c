#include "daemon/traces/traces.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/traces/file_trace.h"

/* Each takes a strace, a thread, and most of the speed of what it traces. */
#define RUNNING_MAX 8
/* And those that have ended by themselves: what became of them is told once it is asked for. */
#define SLOTS_MAX 16
/* About two million calls: more is read by no one, and a full disk would cost the history. */
#define FILE_BYTES_MAX ((uint64_t)256 << 20)
/* Whoever asked for a trace removes it: with so much in the folder no other begins. */
#define FOLDER_BYTES_MAX ((uint64_t)2 << 30)

struct slot {
    struct traces *traces;
    pid_t pid;
    struct file_trace *trace; /* NULL: free */
    struct call *starting;    /* who waits for its beginning; NULL: nobody */
    struct call *stopping;    /* and for its end */
    uint64_t ended;           /* in which order; 0: it runs */
};

struct traces {
    uv_loop_t *loop;
    const char *folder;
    bool closed;
    uint64_t ended;
    struct slot slots[SLOTS_MAX];
};

struct traces *traces_new(uv_loop_t *loop, const char *folder)
{
    struct traces *traces = calloc(1, sizeof(*traces));

    if (!traces)
        return NULL;
    traces->loop = loop;
    traces->folder = folder;
    for (size_t i = 0; i < SLOTS_MAX; i++)
        traces->slots[i].traces = traces;
    return traces;
}

static void slot_clear(struct slot *slot)
{
    file_trace_free(slot->trace);
    *slot = (struct slot){.traces = slot->traces};
}

/* ---- answers ---- */

static int refuse(struct call *call, const struct metron_error *error)
{
    switch (error->code) {
    case -ESRCH:
    case -EINVAL:
        return call_fail(call, RPC_INVALID_PARAMS,
                         "give the pid of a process that runs; daemon.top shows them", "%s", error->message);
    case -EBUSY:
        return call_fail(call, RPC_INVALID_PARAMS, "end the other trace first", "%s", error->message);
    case -EPERM:
        return call_fail(call, RPC_NOT_PERMITTED,
                         "start the daemon as root, or trace as the process's own user: metron trace PID",
                         "%s", error->message);
    case -ENOENT:
        return call_fail(call, RPC_INTERNAL_ERROR, "install strace and ask again", "%s", error->message);
    default:
        return call_fail(call, RPC_INTERNAL_ERROR, "metron trace PID traces without the daemon", "%s",
                         error->message);
    }
}

static void answer_start(struct slot *slot)
{
    struct json *json = call_result(slot->starting);

    json_object_begin(json);
    json_key_integer(json, "pid", slot->pid);
    json_key_string(json, "path", slot->trace->path);
    json_key_string(json, "method", "strace");
    json_object_end(json);
    call_resume(slot->starting);
    slot->starting = NULL;
}

static void answer_stop(struct slot *slot)
{
    struct json *json = call_result(slot->stopping);
    const struct metron_error *error = &slot->trace->error;

    json_object_begin(json);
    json_key_integer(json, "pid", slot->pid);
    json_key_string(json, "path", slot->trace->path);
    json_key_integer(json, "bytes", (int64_t)slot->trace->bytes);
    if (error->code)
        json_key_string(json, "incomplete", error->message);
    json_object_end(json);
    call_resume(slot->stopping);
    slot_clear(slot);
}

static void refuse_waiting(struct call *call, const struct metron_error *error)
{
    if (!call)
        return;
    (void)refuse(call, error);
    call_resume(call);
}

static void slot_look(void *owner)
{
    struct slot *slot = owner;
    enum file_trace_state state = slot->trace ? atomic_load(&slot->trace->state) : TRACE_BEGINS;

    if (state == TRACE_BEGINS)
        return;
    if (state == TRACE_FAILED) {
        refuse_waiting(slot->starting, &slot->trace->error);
        refuse_waiting(slot->stopping, &slot->trace->error);
        slot_clear(slot);
        return;
    }
    if (slot->starting)
        answer_start(slot);
    if (state != TRACE_ENDED || slot->ended)
        return;
    slot->ended = ++slot->traces->ended;
    if (slot->trace->error.code)
        log_warning("trace of process %d: %s", (int)slot->pid, slot->trace->error.message);
    if (slot->stopping)
        answer_stop(slot);
}

/* ---- what clients ask for ---- */

static struct slot *slot_find(struct traces *traces, pid_t pid)
{
    for (size_t i = 0; i < SLOTS_MAX; i++)
        if (traces->slots[i].trace && traces->slots[i].pid == pid)
            return &traces->slots[i];
    return NULL;
}

/* A free one, or that of whichever ended first. NULL: too many run. */
static struct slot *slot_take(struct traces *traces)
{
    struct slot *found = NULL;
    unsigned running = 0;

    for (size_t i = 0; i < SLOTS_MAX; i++) {
        struct slot *slot = &traces->slots[i];
        bool is_free = !slot->trace;
        running += !is_free && !slot->ended;
        if (is_free || (slot->ended && (!found || (found->trace && slot->ended < found->ended))))
            found = slot;
    }
    if (running >= RUNNING_MAX || !found)
        return NULL;
    slot_clear(found);
    return found;
}

static bool is_full(const char *folder)
{
    DIR *files = opendir(folder);
    uint64_t bytes = 0;
    struct stat stat;

    if (!files)
        return false; /* it is made with the first trace */
    /* cppcheck-suppress readdirCalled ; a stream of our own */
    for (const struct dirent *file; (file = readdir(files));)
        if (fstatat(dirfd(files), file->d_name, &stat, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(stat.st_mode))
            bytes += (uint64_t)stat.st_size;
    (void)closedir(files);
    return bytes >= FOLDER_BYTES_MAX;
}

int traces_start(struct traces *traces, struct call *call, pid_t pid)
{
    struct slot *slot = slot_find(traces, pid);

    if (traces->closed)
        return call_fail(call, RPC_SHUTTING_DOWN, "start the daemon again", "the daemon is ending");
    if (!traces->folder)
        return call_fail(call, RPC_INTERNAL_ERROR,
                         "start the daemon with a database, or use metron trace PID",
                         "there is no folder for traces: the daemon keeps no files");
    if (pid == getpid())
        return call_fail(call, RPC_INVALID_PARAMS, "give the pid of another process",
                         "process %d is the daemon: it cannot trace itself", (int)pid);
    if (slot && !slot->ended)
        return call_fail(call, RPC_INVALID_PARAMS, "trace.stop ends it", "process %d is traced already",
                         (int)pid);
    if (is_full(traces->folder))
        return call_fail(call, RPC_EXHAUSTED, "remove those that are not needed any more",
                         "the traces in '%s' take %d MiB or more", traces->folder,
                         (int)(FOLDER_BYTES_MAX >> 20));
    if (slot)
        slot_clear(slot); /* nobody has asked what became of that one */
    slot = slot_take(traces);
    if (!slot)
        return call_fail(call, RPC_EXHAUSTED, "trace.stop ends one", "%d traces run already", RUNNING_MAX);
    const struct file_trace_options options = {.pid = pid,
                                               .folder = traces->folder,
                                               .limit_bytes = FILE_BYTES_MAX,
                                               .loop = traces->loop,
                                               .on_change = slot_look,
                                               .owner = slot};
    struct call *later = call_defer(call);
    if (!later)
        return -ENOMEM;
    int code = file_trace_start(&options, &slot->trace);
    if (code < 0) {
        (void)call_fail(later, RPC_EXHAUSTED, "ask again in a moment", "no thread to trace with");
        call_resume(later);
        return CALL_LATER;
    }
    slot->pid = pid;
    slot->starting = later;
    return CALL_LATER;
}

int traces_stop(struct traces *traces, struct call *call, pid_t pid)
{
    struct slot *slot = slot_find(traces, pid);

    if (!slot)
        return call_fail(call, RPC_INVALID_PARAMS, "trace.start begins one", "process %d is not traced",
                         (int)pid);
    if (slot->stopping)
        return call_fail(call, RPC_EXHAUSTED, "wait for that answer",
                         "the trace of process %d is being ended", (int)pid);
    slot->stopping = call_defer(call);
    if (!slot->stopping)
        return -ENOMEM;
    if (slot->ended)
        answer_stop(slot);
    else
        worker_stop(&slot->trace->worker);
    return CALL_LATER;
}

/* ---- the end ---- */

void traces_close(struct traces *traces)
{
    if (!traces || traces->closed)
        return;
    traces->closed = true;
    for (size_t i = 0; i < SLOTS_MAX; i++)
        if (traces->slots[i].trace)
            worker_stop(&traces->slots[i].trace->worker); /* all at once, then one after the other */
    for (size_t i = 0; i < SLOTS_MAX; i++)
        if (traces->slots[i].trace) {
            (void)worker_await(&traces->slots[i].trace->worker, -1);
            slot_look(&traces->slots[i]);
        }
}

void traces_free(struct traces *traces)
{
    if (!traces)
        return;
    for (size_t i = 0; i < SLOTS_MAX; i++)
        slot_clear(&traces->slots[i]);
    free(traces);
}
