/*
 * The table, as strace 6.1 prints it (the errors column is blank where there were none):
 *
 *   % time     seconds  usecs/call     calls    errors syscall
 *   ------ ----------- ----------- --------- --------- ----------------
 *    29.23    0.000164          20         8           mmap
 *     4.28    0.000024          24         1         1 access
 *   ------ ----------- ----------- --------- --------- ----------------
 *   100.00    0.000188          20         9         1 total
 *
 * Before 5.x the last line has no usecs/call. Columns widen where a number does not fit, so lines are taken
 * apart by words, not by place. The share of time is not read: it is nan where no time passed at all.
 */
#include "probe/strace/table.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "probe/digits.h"

enum { WORDS_MAX = 8 };

struct word {
    const char *at;
    size_t length;
};

enum place { OUTSIDE, BEFORE_ROWS, ROWS, TOTAL };

struct parsing {
    enum place place;
    bool has_errors; /* the column is there */
    uint64_t calls;  /* sum of the table so far */
    int count;       /* lines of all tables */
    void (*visit)(void *context, const struct strace_call *call);
    void *context;
};

/* Returns how many there are, more than WORDS_MAX if they do not fit. */
static size_t words_split(const char *line, const char *end, struct word words[WORDS_MAX])
{
    size_t count = 0;

    while (count <= WORDS_MAX) {
        while (line < end && *line == ' ')
            line++;
        if (line == end)
            break;
        const char *start = line;
        while (line < end && *line != ' ')
            line++;
        if (count < WORDS_MAX)
            words[count] = (struct word){start, (size_t)(line - start)};
        count++;
    }
    return count;
}

static bool word_is(const struct word *word, const char *text)
{
    return word->length == strlen(text) && memcmp(word->at, text, word->length) == 0;
}

static bool word_number(const struct word *word, uint64_t *value)
{
    const char *end = word->at + word->length;

    return digits_read(word->at, end, value) == end;
}

/* "0.000164" */
static bool word_seconds(const struct word *word, double *value)
{
    const char *end = word->at + word->length;
    uint64_t whole, fraction;
    const char *point = digits_read(word->at, end, &whole);

    if (!point || point == end || *point != '.' || digits_read(point + 1, end, &fraction) != end)
        return false;
    double scale = 1;
    for (const char *digit = point + 1; digit < end; digit++)
        scale *= 10;
    *value = (double)whole + (double)fraction / scale;
    return true;
}

static bool is_rule(const char *line, const char *end)
{
    for (const char *at = line; at < end; at++)
        if (*at != '-' && *at != ' ')
            return false;
    return end - line > 6 && *line == '-';
}

static bool is_header(const struct word *words, size_t count, bool *has_errors)
{
    static const char *const names[] = {"%", "time", "seconds", "usecs/call", "calls"};
    const size_t named = sizeof(names) / sizeof(names[0]);

    if (count < named + 1 || count > named + 2 || !word_is(&words[count - 1], "syscall"))
        return false;
    for (size_t i = 0; i < named; i++)
        if (!word_is(&words[i], names[i]))
            return false;
    *has_errors = count == named + 2;
    return !*has_errors || word_is(&words[named], "errors");
}

/* share, seconds, usecs/call, calls, errors if there were any, name */
static int row_take(struct parsing *parsing, const struct word *words, size_t count)
{
    struct strace_call call = {.errors = 0};
    uint64_t each;

    if (count < 5 || count > (parsing->has_errors ? 6U : 5U))
        return -EBADMSG;
    const struct word *name = &words[count - 1];
    if (!word_seconds(&words[1], &call.seconds) || !word_number(&words[2], &each) ||
        !word_number(&words[3], &call.count) || (count == 6 && !word_number(&words[4], &call.errors)))
        return -EBADMSG;
    if (name->length >= sizeof(call.name) || memchr(name->at, '\0', name->length) ||
        call.errors > call.count || __builtin_add_overflow(parsing->calls, call.count, &parsing->calls))
        return -EBADMSG;
    memcpy(call.name, name->at, name->length);
    parsing->count++;
    if (parsing->visit)
        parsing->visit(parsing->context, &call);
    return 0;
}

/* The sum of the calls must be among its numbers: in which column, the versions do not agree. */
static bool is_total(const struct parsing *parsing, const struct word *words, size_t count)
{
    uint64_t number;
    double seconds;

    if (count < 4 || count > 6 || !word_is(&words[count - 1], "total") || !word_seconds(&words[1], &seconds))
        return false;
    for (size_t i = 2; i < count - 1; i++)
        if (word_number(&words[i], &number) && number == parsing->calls)
            return true;
    return false;
}

static int line_take(struct parsing *parsing, const char *line, const char *end)
{
    struct word words[WORDS_MAX];
    size_t count = words_split(line, end, words);
    bool rule = is_rule(line, end);

    switch (parsing->place) {
    case OUTSIDE:
        if (count <= WORDS_MAX && is_header(words, count, &parsing->has_errors))
            parsing->place = BEFORE_ROWS;
        parsing->calls = 0;
        return 0;
    case BEFORE_ROWS:
        parsing->place = ROWS;
        return rule ? 0 : -EBADMSG;
    case ROWS:
        if (!rule)
            return row_take(parsing, words, count);
        parsing->place = TOTAL;
        return 0;
    default:
        parsing->place = OUTSIDE;
        return is_total(parsing, words, count) ? 0 : -EBADMSG;
    }
}

static int text_walk(const char *text, size_t length, struct parsing *parsing)
{
    const char *end = text + length;

    while (text < end) {
        const char *line = text;
        text = memchr(line, '\n', (size_t)(end - line));
        if (!text || line_take(parsing, line, text) < 0)
            return -EBADMSG;
        text++;
    }
    return parsing->place == OUTSIDE ? parsing->count : -EBADMSG;
}

int strace_table_parse(const char *text, size_t length,
                       void (*visit)(void *context, const struct strace_call *call), void *context)
{
    struct parsing dry = {.visit = NULL};
    struct parsing parsing = {.visit = visit, .context = context};
    int code = text_walk(text, length, &dry);

    return code < 0 || !visit ? code : text_walk(text, length, &parsing);
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
