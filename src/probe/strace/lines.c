/*
 * Lines of `strace -f -T -a1 -e raw=!clone,…`, so without strings of the target's own; the second half of a
 * call that was interrupted by another thread's line names it again:
 *
 *   7627 openat(0xffffff9c, 0x7f52, 0, 0) = -1 ENOENT (No such file or directory) <0.000013>
 *   7627 futex(0xa5b8f0, 0x89, 0, 0, 0, 0xffffffff <unfinished ...>
 *   7627 <... futex resumed>) = 0 <0.000203>
 *   7627 clone3({flags=CLONE_VM|CLONE_THREAD, …} => {parent_tid=[7628]}, 88) = 7628 <0.000033>
 *   7627 nanosleep(0x7ffd, 0x7ffd) = ? ERESTART_RESTARTBLOCK (Interrupted by signal) <0.025811>
 *   7627 exit_group(0) = ?
 *   7627 --- SIGCHLD {si_signo=SIGCHLD, …} ---
 *   7627 +++ exited with 0 +++
 *   7627 +++ superseded by execve in pid 7628 +++
 *
 * A call that returned has its duration at the end. Older versions write -1 (errno 2) for an error.
 */
#include "probe/strace/lines.h"

#include <limits.h>
#include <string.h>

#include "probe/digits.h"
#include "probe/error_names.h"

static const char *skip(const char *at, const char *end, const char *text)
{
    const size_t length = strlen(text);

    return (size_t)(end - at) >= length && memcmp(at, text, length) == 0 ? at + length : NULL;
}

static pid_t to_pid(uint64_t number)
{
    return number > 0 && number <= INT_MAX ? (pid_t)number : 0;
}

/* Decimal, or hexadecimal where strace was not to decode it; 0: neither. */
static pid_t result_pid(const char *at, const char *end)
{
    const char *digits = skip(at, end, "0x");
    uint64_t number = 0;

    if (!digits)
        return digits_read(at, end, &number) ? to_pid(number) : 0;
    for (; digits < end && number <= INT_MAX; digits++) {
        const unsigned char byte = (unsigned char)*digits;

        if (!(byte >= '0' && byte <= '9') && !(byte >= 'a' && byte <= 'f'))
            break;
        number = number * 16 + (uint64_t)(byte <= '9' ? byte - '0' : byte - 'a' + 10);
    }
    return to_pid(number);
}

/* The duration "<0.000013>" at the end of the line; returns where it begins, or NULL. */
static const char *duration_read(const char *text, const char *end, uint64_t *ns)
{
    enum { DECIMALS = 9 };
    uint64_t seconds, fraction, scale = 1;
    const char *at = end;

    if (at == text || *--at != '>')
        return NULL;
    while (at > text && *at != '<')
        at--;
    const char *point = *at == '<' ? digits_read(at + 1, end - 1, &seconds) : NULL;
    if (!point || *point != '.' || digits_read(point + 1, end - 1, &fraction) != end - 1 ||
        end - 2 - point > DECIMALS || at == text || at[-1] != ' ')
        return NULL;
    for (ptrdiff_t i = end - 2 - point; i < DECIMALS; i++)
        scale *= 10;
    if (seconds > UINT64_MAX / 2 / 1000000000)
        return NULL;
    *ns = seconds * 1000000000 + fraction * scale;
    return at;
}

/* What follows the last " = ". */
static const char *result_find(const char *text, const char *end)
{
    for (const char *at = end - 3; at >= text; at--)
        if (memcmp(at, " = ", 3) == 0)
            return at + 3;
    return NULL;
}

static bool has_word(const char *text, const char *end, const char *word)
{
    return memmem(text, (size_t)(end - text), word, strlen(word)) != NULL;
}

static const char *name_take(const char *at, const char *end, struct strace_line *line)
{
    size_t length = 0;

    while (at < end && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_' ||
                        (*at >= '0' && *at <= '9'))) {
        if (length + 1 == sizeof(line->name))
            return NULL;
        line->name[length++] = *at++;
    }
    line->name[length] = '\0';
    return length > 0 ? at : NULL;
}

/* "-1 ENOENT (No such file or directory)", "-1 (errno 530)", "? ERESTARTSYS (To be restarted …)". */
static void error_take(const char *result, const char *end, struct strace_line *line)
{
    const char *name = skip(result, end, "-1 ");
    uint64_t number = 0;

    name = name ? name : skip(result, end, "? ");
    if (!name)
        return;
    const char *digits = skip(name, end, "(errno ");
    if (digits) {
        line->failed = true;
        line->error = digits_read(digits, end, &number) && number <= ERROR_NUMBER_MAX ? (int)number : 0;
        return;
    }
    const char *stop = memchr(name, ' ', (size_t)(end - name));
    line->failed = name < end && *name == 'E';
    if (line->failed)
        line->error = error_number_named(name, (size_t)((stop ? stop : end) - name));
}

static void call_take(const char *text, const char *end, struct strace_line *line)
{
    const char *resumed = skip(text, end, "<... ");
    const char *rest = name_take(resumed ? resumed : text, end, line);

    rest = rest ? skip(rest, end, resumed ? " resumed>" : "(") : NULL;
    if (!rest)
        return;
    line->kind = STRACE_LINE_BEGUN;
    line->makes_task = strncmp(line->name, "clone", 5) == 0 || strcmp(line->name, "fork") == 0 ||
                       strcmp(line->name, "vfork") == 0;
    line->makes_thread = line->makes_task && has_word(rest, end, "CLONE_THREAD");
    const char *duration = duration_read(rest, end, &line->ns);
    const char *result = duration ? result_find(rest, duration) : NULL;
    if (!result)
        return;
    line->kind = STRACE_LINE_RETURNED;
    error_take(result, duration, line);
    if (line->makes_task && !line->failed)
        line->other = result_pid(result, duration);
}

static void end_take(const char *text, const char *end, struct strace_line *line)
{
    const char *other = skip(text, end, "superseded by execve in pid ");
    uint64_t number;

    if (skip(text, end, "exited with ") || skip(text, end, "killed by "))
        line->kind = STRACE_LINE_EXITED;
    else if (other && digits_read(other, end, &number) && (line->other = to_pid(number)))
        line->kind = STRACE_LINE_SUPERSEDED;
}

void strace_line_parse(const char *text, size_t length, struct strace_line *line)
{
    const char *end = text + length;
    uint64_t thread;

    line->kind = STRACE_LINE_OTHER;
    line->name[0] = '\0';
    line->makes_task = line->makes_thread = line->failed = false;
    line->error = 0;
    line->ns = 0;
    line->thread = line->other = 0;
    const char *at = length > 0 ? digits_read(text, end, &thread) : NULL;
    if (!at || at == end || *at != ' ' || !(line->thread = to_pid(thread)))
        return;
    while (at < end && *at == ' ')
        at++;
    const char *remark = skip(at, end, "+++ ");
    if (remark)
        end_take(remark, end, line);
    else
        call_take(at, end, line);
}

/*
 * Lines of `strace -f -tt -o`: a call begins with its name. The second half of one that was interrupted by
 * another process's line, signals and exits begin with a sign:
 *
 *   7627  14:50:06.798624 clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=0, …}, 0x7ffd23725cb0) = 0 <0.010177>
 *   7626  14:50:06.809576 <... rt_sigsuspend resumed>) = ? ERESTARTNOHAND (…) <0.025811>
 *   7626  14:50:06.809595 --- SIGCHLD {si_signo=SIGCHLD, …} ---
 *   7627  14:50:06.809550 +++ exited with 0 +++
 */
void strace_counter_add(struct strace_counter *counter, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char byte = bytes[i];

        if (byte == '\n' || (byte == ' ' && counter->place == STRACE_IN_NUMBER)) {
            counter->place = STRACE_AT_WORD;
        } else if (counter->place == STRACE_AT_WORD && byte != ' ') {
            bool number = byte >= '0' && byte <= '9';
            bool name = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';

            counter->calls += name;
            counter->place = number ? STRACE_IN_NUMBER : STRACE_IN_REST;
        }
    }
}
