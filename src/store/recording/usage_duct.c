/*
 * con-duct's lines:
 *
 *     {"timestamp": …, "num_samples": …, "processes": {pid: {"pcpu": …, "etime": "00:05", …}},
 *      "totals": {…}, "averages": {…}}
 *
 * What CPU they imply is worked out in duct_rates.c.
 */
#include <string.h>

#include "store/recording/duct.h"
#include "store/recording/duct_rates.h"
#include "store/recording/reader.h"
#include "store/recording/usage_values.h"

#define ETIME_DAYS_MAX 36525

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

static void read_etime(struct usage_reader *reader, const char *subject, struct duct_sighting *now)
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

static void read_pcpu(struct usage_reader *reader, const char *subject, struct duct_sighting *now)
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
    struct duct_sighting now = {0};
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
        duct_rates_see(reader, subject, &now);
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

    if (reader->rates)
        duct_rates_begin(reader->rates);
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
    if (reader->rates && !reader->json.failed)
        duct_rates_end(reader);
}
