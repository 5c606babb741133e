/*
 * The processes of a job that runs, with what each used until the job was written: so that the daemon that is
 * started next knows from where to count on. One text per job, in the transaction of its row: [ticks, [pid,
 * start, cpu, cpu of children, read, written, sheet], …], without the last number for a process that is in no
 * sheet.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/json_reader.h"
#include "store/history/reader_state.h"
#include "store/history/state.h"

#define MEMBERS_MAX ((size_t)1 << 20)
#define NUMBERS     6 /* and the sheet */

static void member_json(struct json *json, const struct job_member *member)
{
    json_array_begin(json);
    json_integer(json, member->pid);
    json_integer(json, (int64_t)member->start_ticks);
    json_decimal(json, isfinite(member->cpu_seconds) ? member->cpu_seconds : 0, 9);
    json_decimal(json, isfinite(member->child_cpu_seconds) ? member->child_cpu_seconds : 0, 9);
    json_integer(json, (int64_t)member->read_bytes);
    json_integer(json, (int64_t)member->write_bytes);
    if (member->has_sheet)
        json_integer(json, member->sheet_num);
    json_array_end(json);
}

static int members_text(struct history *history, const struct job *job)
{
    struct json json;

    strbuf_reset(&history->text);
    json_init(&json, &history->text, 0);
    json_array_begin(&json);
    json_integer(&json, (int64_t)job->members_ticks);
    for (size_t i = 0; i < job->member_count; i++)
        member_json(&json, &job->members[i]);
    json_array_end(&json);
    return history->text.failed ? -ENOMEM : 0;
}

int members_write(struct history *history, int64_t row, const struct job *job, uint64_t *hash)
{
    const bool runs = job->status == JOB_RUNNING && job->members_ticks != 0;
    int code = runs ? members_text(history, job) : 0;

    if (code < 0)
        return code;
    /* Members that sleep stay as they were written, whatever time that was: it is not in the hash. */
    const char *text = strbuf_text(&history->text);
    const char *members = text + strcspn(text, ",");
    uint64_t latest = runs ? hash_bytes(HASH_BEGIN, members, strlen(members)) : 0;
    if (runs && latest == *hash)
        return 0;
    sqlite3_stmt *set = history_statement(history, runs ? SQL_MEMBERS_SET : SQL_MEMBERS_END);
    bind_integer(set, 1, true, row);
    if (runs)
        bind_text(set, 2, text);
    *hash = latest;
    return history_run(history, set);
}

static bool member_read(struct json_reader *reader, struct job_member *out)
{
    double numbers[NUMBERS], sheet = 0;

    if (!json_enter_array(reader))
        return false;
    for (size_t i = 0; i < NUMBERS; i++)
        if (!json_next_item(reader) || !json_read_number(reader, &numbers[i]))
            return false;
    bool has_sheet = json_next_item(reader);
    if (has_sheet && (!json_read_number(reader, &sheet) || json_next_item(reader)))
        return false;
    for (size_t i = 0; i < NUMBERS; i++)
        if (!is_within(numbers[i], 0, 0x1p63))
            return false;
    if (!is_within(numbers[0], 1, 0x1p31) || !is_within(sheet, -0x1p63, 0x1p63))
        return false;
    *out = (struct job_member){.pid = (pid_t)numbers[0],
                               .start_ticks = (uint64_t)numbers[1],
                               .cpu_seconds = numbers[2],
                               .child_cpu_seconds = numbers[3],
                               .read_bytes = (uint64_t)numbers[4],
                               .write_bytes = (uint64_t)numbers[5],
                               .has_sheet = has_sheet,
                               .sheet_num = (int64_t)sheet};
    return true;
}

int members_read(const char *text, size_t length, struct arena *arena, struct job *job)
{
    struct json_reader reader;
    size_t room = 1, count = 0;
    double ticks = 0;

    for (size_t i = 0; i < length; i++)
        room += text[i] == '[';
    struct job_member *members = room <= MEMBERS_MAX ? arena_alloc(arena, room * sizeof(*members)) : NULL;
    if (!members)
        return -ENOMEM;
    json_reader_init(&reader, text, length);
    bool is_whole = json_enter_array(&reader) && json_next_item(&reader) && json_read_number(&reader, &ticks);
    while (is_whole && json_next_item(&reader))
        is_whole = count < room && member_read(&reader, &members[count++]);
    is_whole = is_whole && json_reader_end(&reader, NULL) == 0 && is_within(ticks, 0, 0x1p63);
    json_reader_fini(&reader);
    if (!is_whole)
        return 0; /* as if none were known: the job goes on all the same */
    job->members = members;
    job->member_count = count;
    job->members_ticks = (uint64_t)ticks;
    return 0;
}
