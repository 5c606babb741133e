/*
 * con-duct's lines:
 *
 *     {"timestamp": …, "num_samples": …, "processes": {pid: {"pcpu": …, "etime": "00:05", …}},
 *      "totals": {…}, "averages": {…}}
 *
 * and the CPU rate that can be made of them. pcpu there is an average over the life of the process, so
 * pcpu x etime is the CPU time it had used by then, and the difference of two such is what it used between
 * them. It is rounded: pcpu to 0.1 %, etime to whole seconds; hence the rules in usage_reader.h.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_table.h"
#include "store/recording/duct.h"
#include "store/recording/reader.h"
#include "store/recording/usage_values.h"

/* The share of its age over which a process is looked at. */
#define BASELINE_SHARE 0.02
/* How far two estimates of the start of one process may lie apart. */
#define SAME_START_SECONDS 3.0
#define ETIME_DAYS_MAX     36525
#define FIRST_ROOM         32

struct known_process {
    uint64_t pid;
    double cpu_seconds, etime, start;
    double rate; /* percent: the latest */
    bool has_rate;
    uint64_t record; /* when it was seen last */
    UT_hash_handle hh;
};

struct duct_rates {
    struct known_process *processes; /* owned; uthash by pid */
    size_t room;                     /* with so many of them those are forgotten that have gone */
    uint64_t record;
    double total; /* of the record that is read */
    bool fresh;   /* a rate was worked out in it */
};

/* What is known of the process that is read. */
struct sighting {
    bool has_pcpu, has_etime, has_wall;
    double pcpu, etime, wall;
};

int duct_rates_new(struct duct_rates **out)
{
    *out = calloc(1, sizeof(**out));
    if (*out)
        (*out)->room = FIRST_ROOM;
    return *out ? 0 : -ENOMEM;
}

void duct_rates_free(struct duct_rates *rates)
{
    if (rates)
        HASH_FREE_ALL(rates->processes, free);
    free(rates);
}

/* Keeps the processes of this record and of the one before, and sets room for twice as many. */
static void forget_ended(struct duct_rates *rates)
{
    struct known_process *known = rates->processes, *next;

    HASH_CLEAR(hh, rates->processes);
    for (; known; known = next) {
        const bool is_kept = known->record + 1 >= rates->record;

        next = known->hh.next;
        if (is_kept)
            HASH_ADD(hh, rates->processes, pid, sizeof(known->pid), known);
        if (!is_kept || !known->hh.tbl)
            free(known);
    }
    for (rates->room = FIRST_ROOM; HASH_COUNT(rates->processes) > rates->room / 2;)
        rates->room *= 2;
}

/* 0: it is no pid. */
static uint64_t parse_pid(const char *text)
{
    uint64_t pid = 0;

    for (; *text; text++) {
        if (*text < '0' || *text > '9' || pid > UINT32_MAX)
            return 0;
        pid = pid * 10 + (uint64_t)(*text - '0');
    }
    return pid;
}

static void set_baseline(struct known_process *known, double cpu_seconds, const struct sighting *now)
{
    known->cpu_seconds = cpu_seconds;
    known->etime = now->etime;
    known->start = now->wall - now->etime;
}

/* Whether there is a new rate, now that this process was seen again. */
static bool update_rate(struct known_process *known, const struct sighting *now)
{
    double cpu_seconds = now->pcpu / 100 * now->etime;
    double span = now->etime - known->etime;
    double used = cpu_seconds - known->cpu_seconds;
    /* Both roundings: what looks like a fall of less is none. */
    double tolerance = 0.001 * now->etime + now->pcpu / 100;

    if (span < 0 || fabs(now->wall - now->etime - known->start) > SAME_START_SECONDS || used < -tolerance) {
        /* Another process with this pid, or a figure that cannot be. */
        known->has_rate = false;
        set_baseline(known, cpu_seconds, now);
        return false;
    }
    if (span < 1 || span < BASELINE_SHARE * now->etime)
        return false;
    known->rate = used > 0 ? 100 * used / span : 0;
    known->has_rate = true;
    set_baseline(known, cpu_seconds, now);
    return true;
}

static void see_process(struct usage_reader *reader, const char *subject, const struct sighting *now)
{
    struct duct_rates *rates = reader->rates;
    uint64_t pid = parse_pid(subject);

    if (pid == 0 || !now->has_pcpu || !now->has_etime || !now->has_wall || !(now->pcpu >= 0))
        return;
    if (HASH_COUNT(rates->processes) >= rates->room)
        forget_ended(rates);

    struct known_process *known;

    HASH_FIND_OR_ADD(rates->processes, pid, &pid, known);
    if (!known) {
        reader->no_memory = true;
        return;
    }
    if (known->record == 0) {
        set_baseline(known, now->pcpu / 100 * now->etime, now);
    } else if (update_rate(known, now)) {
        rates->fresh = true;
        if (reader->wanted[DUCT_PCPU_RATE])
            usage_add_number(reader, DUCT_PCPU_RATE, subject, known->rate);
    }
    known->record = rates->record;
    if (known->has_rate)
        rates->total += known->rate;
}

static bool parse_two(const char **at, int *out)
{
    const char *text = *at;

    if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9')
        return false;
    *out = (text[0] - '0') * 10 + (text[1] - '0');
    *at += 2;
    return true;
}

bool duct_parse_etime(const char *text, double *seconds)
{
    const char *dash = strchr(text, '-');
    long days = 0;
    int part, parts = 0;
    double total = 0;

    if (dash == text)
        return false;
    if (dash) {
        for (; text < dash; text++) {
            if (*text < '0' || *text > '9' || days > ETIME_DAYS_MAX)
                return false;
            days = days * 10 + (*text - '0');
        }
        text++;
    }
    do {
        if (parts++ == 3 || !parse_two(&text, &part))
            return false;
        total = total * 60 + part;
    } while (*text == ':' && *text++);
    if (*text != '\0' || parts < 2 || (dash && parts != 3) || days > ETIME_DAYS_MAX)
        return false;
    *seconds = (double)days * 86400 + total;
    return true;
}

/* -- Lines -- */

/* Text of a value that is short by nature; longer ones are none. */
static bool read_short_text(struct json_reader *json, char *out, size_t size)
{
    struct json_text text;

    if (!json_read_text(json, &text) || text.length >= size)
        return false;
    memcpy(out, text.bytes, text.length);
    out[text.length] = '\0';
    return true;
}

static void read_etime(struct usage_reader *reader, const char *subject, struct sighting *now)
{
    char text[40];

    if (json_peek(&reader->json) == JSON_NUMBER)
        now->has_etime = json_read_number(&reader->json, &now->etime) && now->etime >= 0 &&
                         now->etime <= (double)ETIME_DAYS_MAX * 86400;
    else if (json_peek(&reader->json) == JSON_STRING)
        now->has_etime =
            read_short_text(&reader->json, text, sizeof(text)) && duct_parse_etime(text, &now->etime);
    else
        (void)json_skip(&reader->json);
    if (now->has_etime && reader->wanted[DUCT_ETIME])
        usage_add_number(reader, DUCT_ETIME, subject, now->etime);
}

static void read_pcpu(struct usage_reader *reader, const char *subject, struct sighting *now)
{
    if (!json_read_number(&reader->json, &now->pcpu)) {
        (void)json_skip(&reader->json);
        return;
    }
    now->has_pcpu = true;
    if (reader->wanted[DUCT_PCPU])
        usage_add_number(reader, DUCT_PCPU, subject, now->pcpu);
}

static void read_process(struct usage_reader *reader, const char *subject)
{
    struct sighting now = {0};
    struct json_text key;
    char stamp[40];

    while (json_next_key(&reader->json, &key)) {
        uint32_t found = DUCT_CMD + 1;

        for (uint32_t i = DUCT_PCPU; i <= DUCT_CMD && found > DUCT_CMD; i++)
            if (json_text_is(&key, duct_keys[i].key))
                found = i;
        if (found == DUCT_ETIME)
            read_etime(reader, subject, &now);
        else if (found == DUCT_PCPU)
            read_pcpu(reader, subject, &now);
        else if (found <= DUCT_CMD && reader->wanted[found])
            usage_read_scalar(reader, found, subject);
        else if (reader->rates && json_text_is(&key, "timestamp") && json_peek(&reader->json) == JSON_STRING)
            now.has_wall = read_short_text(&reader->json, stamp, sizeof(stamp)) &&
                           recording_parse_time(stamp, &now.wall);
        else
            (void)json_skip(&reader->json);
    }
    if (reader->rates && !reader->json.failed)
        see_process(reader, subject, &now);
}

static void read_processes(struct usage_reader *reader)
{
    struct json_text key;

    while (json_next_key(&reader->json, &key)) {
        const char *subject = usage_copy(reader, &key);

        if (subject && !reader->too_many && json_enter_object(&reader->json))
            read_process(reader, subject);
        else
            (void)json_skip(&reader->json);
    }
}

/* "totals" and "averages": `first` is the key of its pcpu. */
static void read_group(struct usage_reader *reader, uint32_t first)
{
    static const char *const names[] = {"pcpu", "pmem", "rss", "vsz"};
    struct json_text key;

    while (json_next_key(&reader->json, &key)) {
        uint32_t i = 0;

        while (i < 4 && !json_text_is(&key, names[i]))
            i++;
        if (i < 4 && reader->wanted[first + i])
            usage_read_scalar(reader, first + i, NULL);
        else
            (void)json_skip(&reader->json);
    }
}

static bool wants_any(const struct usage_reader *reader, uint32_t first, uint32_t last)
{
    for (uint32_t i = first; i <= last; i++)
        if (reader->wanted[i])
            return true;
    return false;
}

static bool enter_if(struct usage_reader *reader, bool wanted)
{
    reader->has_values |= json_peek(&reader->json) == JSON_OBJECT;
    return wanted && json_enter_object(&reader->json);
}

void duct_read_line(struct usage_reader *reader)
{
    bool of_processes = reader->rates || wants_any(reader, DUCT_PCPU, DUCT_CMD);
    struct json_text key;

    if (reader->rates) {
        reader->rates->record++;
        reader->rates->total = 0;
        reader->rates->fresh = false;
    }
    while (json_next_key(&reader->json, &key)) {
        if (usage_read_common(reader, &key))
            continue;
        if (json_text_is(&key, "processes") && enter_if(reader, of_processes))
            read_processes(reader);
        else if (json_text_is(&key, "totals") &&
                 enter_if(reader, wants_any(reader, DUCT_TOTAL_PCPU, DUCT_TOTAL_VSZ)))
            read_group(reader, DUCT_TOTAL_PCPU);
        else if (json_text_is(&key, "averages") &&
                 enter_if(reader, wants_any(reader, DUCT_AVERAGE_PCPU, DUCT_AVERAGE_VSZ)))
            read_group(reader, DUCT_AVERAGE_PCPU);
        else
            (void)json_skip(&reader->json);
    }
    if (reader->rates && reader->rates->fresh && reader->wanted[DUCT_TOTAL_PCPU_RATE])
        usage_add_number(reader, DUCT_TOTAL_PCPU_RATE, NULL, reader->rates->total);
}
