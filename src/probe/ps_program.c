/*
 * Running ps (probe/program_output.h).
 *
 * Our own process is always in the list. ps exits with 1 both when none of the listed processes lives and
 * when it does not know an option; the line about ourselves tells the one from the other.
 *
 * ps itself may hang, since it reads the memory of others: after its time it is killed, and should even that
 * not end it at once, it is left behind and waited for at the next run. We never wait without a limit.
 */
#include "probe/ps_program.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "probe/breakage.h"
#include "probe/digits.h"

#define OUTPUT_BYTES_MAX  ((size_t)64 << 20)
#define KILLED_ENDS_IN_NS (NS_PER_SECOND / 10)

#define COLUMNS "pid=,ppid=,stat=,rss=,vsz=,pmem=,times=,etimes=,args="

/* ---- what it prints ---- */

static const char *number_read(const char *at, const char *end, uint64_t *value)
{
    while (at < end && *at == ' ')
        at++;
    at = digits_read(at, end, value);
    return at != NULL && (at == end || *at == ' ') ? at : NULL;
}

/* "0.4": percent, one digit behind the point where there is one. */
static const char *percent_read(const char *at, const char *end, double *fraction)
{
    uint64_t whole, tenths = 0;

    while (at < end && *at == ' ')
        at++;
    at = digits_read(at, end, &whole);
    if (at != NULL && end - at >= 2 && *at == '.')
        at = digits_read(at + 1, at + 2, &tenths);
    *fraction = ((double)whole + (double)tenths / 10) / 100;
    return at != NULL && at < end && *at == ' ' ? at : NULL;
}

/*
 * The columns of COLUMNS, right-aligned with blanks between; rss and vsz are KiB, times are whole seconds:
 *
 *   "15738 15714 Ss    3984   5004  0.0        0      26 bash /dev/fd/3"
 *
 * Bytes of the arguments that are not printable ASCII (a newline too) are '?' in the C locale: a process has
 * one line.
 */
int ps_line_parse(const char *line, size_t length, struct ps_process *out)
{
    const char *at = line, *end = line + length;
    uint64_t pid = 0, ppid = 0, rss = 0, vsize = 0;

    at = number_read(at, end, &pid);
    if (at != NULL)
        at = number_read(at, end, &ppid);
    if (at == NULL || pid == 0 || pid > INT32_MAX || ppid > INT32_MAX)
        return -EBADMSG;
    while (at < end && *at == ' ')
        at++;
    if (at == end)
        return -EBADMSG;
    out->state = *at;
    while (at < end && *at != ' ')
        at++;
    at = number_read(at, end, &rss);
    if (at != NULL)
        at = number_read(at, end, &vsize);
    if (at != NULL)
        at = percent_read(at, end, &out->memory_fraction);
    if (at != NULL)
        at = number_read(at, end, &out->cpu_seconds);
    if (at != NULL)
        at = number_read(at, end, &out->elapsed_seconds);
    if (at == NULL || __builtin_mul_overflow(rss, 1024U, &out->rss_bytes) ||
        __builtin_mul_overflow(vsize, 1024U, &out->vsize_bytes))
        return -EBADMSG;
    out->pid = (pid_t)pid;
    out->ppid = (pid_t)ppid;
    /* now - start is made of two clocks: -1 as an unsigned number is possible. */
    out->has_elapsed = out->elapsed_seconds < INT32_MAX;
    out->arguments = at < end ? at + 1 : end;
    out->arguments_length = (size_t)(end - out->arguments);
    return 0;
}

static int output_visit(const struct strbuf *output, const struct ps_visitor *visitor)
{
    const char *line = strbuf_text(output), *end = line + output->length, *line_end;
    const pid_t self = getpid();
    bool seen_self = false;

    for (; (line_end = line_end_of(line, end)) != NULL; line = line_end + 1) {
        struct ps_process process;

        if (ps_line_parse(line, (size_t)(line_end - line), &process) < 0)
            return -EBADMSG;
        if (process.pid == self)
            seen_self = true;
        else
            visitor->on_process(visitor->context, &process);
    }
    if (line < end)
        return -EBADMSG;
    return seen_self ? 0 : -ENOTSUP;
}

/* ---- running it ---- */

int ps_program_init(struct ps_program *program)
{
    *program = (struct ps_program){.left_behind = 0};
    if (breakage_has("ps"))
        return -EIO;
    return program_find("ps", program->path);
}

void ps_program_fini(struct ps_program *program)
{
    strbuf_fini(&program->list);
    strbuf_fini(&program->output);
}

/* ps obeys a dozen variables: it gets none of ours. */
static int start(const struct ps_program *program, pid_t *pid, int *output)
{
    char *const argv[] = {"ps", "-ww", "-o", COLUMNS, "-p", program->list.data, NULL};
    char *const environment[] = {"LC_ALL=C", NULL};

    return program_start(program->path, argv, environment, pid, output);
}

/* Waits for one that has closed its output, or was killed; kills it when that takes too long. */
static int end_run(struct ps_program *program, pid_t pid, uint64_t deadline_ns,
                   const struct ps_visitor *visitor)
{
    struct rusage usage;
    int code = program_wait(pid, deadline_ns, NULL, &usage);
    bool is_late = code == -ETIME;

    if (is_late) {
        (void)kill(pid, SIGKILL);
        code = program_wait(pid, clock_monotonic_ns() + KILLED_ENDS_IN_NS, NULL, &usage);
    }
    if (code == -ETIME)
        program->left_behind = pid;
    else
        visitor->on_end(visitor->context, pid, code == 0 ? &usage : NULL);
    return is_late ? -ETIME : 0;
}

/* Whether there is none left behind, or it could be waited for now. */
static bool is_rid_of_the_last(struct ps_program *program, const struct ps_visitor *visitor)
{
    struct rusage usage;
    pid_t pid = program->left_behind;
    int code = pid ? program_wait(pid, 0, NULL, &usage) : 0;

    if (code == -ETIME)
        return false;
    program->left_behind = 0;
    if (pid)
        visitor->on_end(visitor->context, pid, code == 0 ? &usage : NULL);
    return true;
}

static int run_once(struct ps_program *program, uint64_t deadline_ns, const struct ps_visitor *visitor)
{
    pid_t pid = 0;
    int output = -1;

    strbuf_reset(&program->output);
    int code = start(program, &pid, &output);
    if (code < 0)
        return code;
    visitor->on_start(visitor->context, pid);
    code = program_read(output, deadline_ns, OUTPUT_BYTES_MAX, &program->output);
    if (code < 0)
        (void)kill(pid, SIGKILL);
    int ended = end_run(program, pid, deadline_ns, visitor);
    (void)close(output);
    if (code == 0)
        code = ended;
    return code < 0 ? code : output_visit(&program->output, visitor);
}

int ps_program_run(struct ps_program *program, const pid_t *pids, size_t count, uint64_t limit_ns,
                   const struct ps_visitor *visitor)
{
    uint64_t deadline_ns = clock_monotonic_ns() + limit_ns;
    struct strbuf *list = &program->list;
    int code = 0;

    if (!is_rid_of_the_last(program, visitor))
        return -EBUSY;
    for (size_t done = 0; done < count && code == 0;) {
        strbuf_reset(list);
        strbuf_addf(list, "%d", (int)getpid());
        for (size_t end = done + PS_RUN_PIDS; done < count && done < end; done++)
            strbuf_addf(list, ",%d", (int)pids[done]);
        code = list->failed ? -ENOMEM : run_once(program, deadline_ns, visitor);
    }
    return code;
}
