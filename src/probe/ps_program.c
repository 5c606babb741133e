/*
 * Running ps. No shell, and nothing of our own surroundings: a minimal environment (ps obeys a dozen
 * variables), default signals, a process group of its own (the keyboard's Ctrl-C is for the command), no
 * terminal.
 *
 * Our own process is always in the list. ps exits with 1 both when none of the listed processes lives and
 * when it does not know an option; the line about ourselves tells the one from the other.
 *
 * ps itself may hang, since it reads the memory of others: after its time it is killed, and should even that
 * not end it at once, it is left behind and waited for at the next run. We never wait without a limit.
 */
#include "probe/ps_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
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

    for (; line < end; line = line_end + 1) {
        struct ps_process process;

        line_end = memchr(line, '\n', (size_t)(end - line));
        if (line_end == NULL || ps_line_parse(line, (size_t)(line_end - line), &process) < 0)
            return -EBADMSG;
        if (process.pid == self)
            seen_self = true;
        else
            visitor->on_process(visitor->context, &process);
    }
    return seen_self ? 0 : -ENOTSUP;
}

/* ---- running it ---- */

int ps_program_init(struct ps_program *program)
{
    const char *folder = getenv("PATH");
    struct stat file;

    *program = (struct ps_program){.left_behind = 0};
    if (breakage_has("ps"))
        return -EIO;
    if (folder == NULL)
        folder = "/usr/bin:/bin";
    while (*folder != '\0') {
        size_t length = strcspn(folder, ":");

        /* A relative one would mean a ps of whatever folder we are in. */
        if (*folder == '/' && length + sizeof("/ps") <= sizeof(program->path)) {
            memcpy(program->path, folder, length);
            memcpy(program->path + length, "/ps", sizeof("/ps"));
            if (stat(program->path, &file) == 0 && S_ISREG(file.st_mode) && access(program->path, X_OK) == 0)
                return 0;
        }
        folder += length + (folder[length] == ':');
    }
    program->path[0] = '\0';
    return -ENOENT;
}

void ps_program_fini(struct ps_program *program)
{
    strbuf_fini(&program->list);
    strbuf_fini(&program->output);
}

static void attributes_fill(posix_spawnattr_t *attributes)
{
    sigset_t none, all;

    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    (void)sigdelset(&all, SIGKILL);
    (void)sigdelset(&all, SIGSTOP);
    (void)posix_spawnattr_setsigmask(attributes, &none);
    (void)posix_spawnattr_setsigdefault(attributes, &all);
    (void)posix_spawnattr_setpgroup(attributes, 0);
    (void)posix_spawnattr_setflags(attributes,
                                   POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

/* Its standard output goes into `output`. */
static int spawn(const struct ps_program *program, int output, pid_t *pid)
{
    char *const argv[] = {"ps", "-ww", "-o", COLUMNS, "-p", program->list.data, NULL};
    char *const environment[] = {"LC_ALL=C", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int code = posix_spawn_file_actions_init(&actions);

    if (code != 0)
        return -code;
    code = posix_spawnattr_init(&attributes);
    if (code != 0)
        goto out;
    attributes_fill(&attributes);
    code = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (code == 0)
        code = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (code == 0)
        code = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (code == 0)
        code = posix_spawn(pid, program->path, &actions, &attributes, argv, environment);
    (void)posix_spawnattr_destroy(&attributes);
out:
    (void)posix_spawn_file_actions_destroy(&actions);
    return -code;
}

static int read_output(int fd, uint64_t deadline_ns, struct strbuf *output)
{
    char bytes[16384];

    for (;;) {
        uint64_t now_ns = clock_monotonic_ns();
        struct pollfd waiting = {.fd = fd, .events = POLLIN};

        if (now_ns >= deadline_ns)
            return -ETIME;
        int ready = poll(&waiting, 1, (int)((deadline_ns - now_ns) / 1000000) + 1);
        if (ready < 0 && errno != EINTR)
            return -errno;
        if (ready <= 0)
            continue;
        ssize_t length = read(fd, bytes, sizeof(bytes));
        if (length == 0)
            return output->failed ? -ENOMEM : 0;
        if (length < 0 && errno != EINTR)
            return -errno;
        if (length > 0)
            strbuf_add(output, bytes, (size_t)length);
        if (output->length > OUTPUT_BYTES_MAX)
            return -EFBIG;
    }
}

/* 0; -ETIME: it is still there; -ECHILD: somebody else waited for it. */
static int wait_until(pid_t pid, uint64_t deadline_ns, struct rusage *usage)
{
    struct timespec pause = {.tv_nsec = 100000};

    for (;;) {
        pid_t found = wait4(pid, NULL, WNOHANG, usage);

        if (found == pid)
            return 0;
        if (found < 0 && errno != EINTR)
            return -errno;
        if (clock_monotonic_ns() >= deadline_ns)
            return -ETIME;
        (void)nanosleep(&pause, NULL);
        if (pause.tv_nsec < 10000000)
            pause.tv_nsec *= 2;
    }
}

/* Waits for one that has closed its output, or was killed; kills it when that takes too long. */
static int end_run(struct ps_program *program, pid_t pid, uint64_t deadline_ns,
                   const struct ps_visitor *visitor)
{
    struct rusage usage;
    int code = wait_until(pid, deadline_ns, &usage);
    bool is_late = code == -ETIME;

    if (is_late) {
        (void)kill(pid, SIGKILL);
        code = wait_until(pid, clock_monotonic_ns() + KILLED_ENDS_IN_NS, &usage);
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
    int code = pid ? wait_until(pid, 0, &usage) : 0;

    if (code == -ETIME)
        return false;
    program->left_behind = 0;
    if (pid)
        visitor->on_end(visitor->context, pid, code == 0 ? &usage : NULL);
    return true;
}

static int run_once(struct ps_program *program, uint64_t deadline_ns, const struct ps_visitor *visitor)
{
    int ends[2];
    pid_t pid = 0;

    strbuf_reset(&program->output);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    int code = spawn(program, ends[1], &pid);
    (void)close(ends[1]);
    if (code == 0) {
        visitor->on_start(visitor->context, pid);
        code = read_output(ends[0], deadline_ns, &program->output);
        if (code < 0)
            (void)kill(pid, SIGKILL);
        int ended = end_run(program, pid, deadline_ns, visitor);
        if (code == 0)
            code = ended;
    }
    (void)close(ends[0]);
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
