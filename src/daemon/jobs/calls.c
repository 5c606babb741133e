/*
 * What the processes of jobs and sheets have called, as the books have it (daemon/calls/call_books.h): put
 * beside what they have used.
 */
#include "daemon/calls/call_books.h"
#include "daemon/jobs/inner.h"

void jobs_keep_calls(struct jobs *jobs, struct call_books *books)
{
    jobs->books = books;
}

bool jobs_serial(const struct jobs *jobs, const char *job_id, uint64_t *serial)
{
    const struct entry *entry = entry_find(jobs, job_id);

    if (entry)
        *serial = entry->group_serial;
    return entry;
}

void sheet_take_calls(struct jobs *jobs, struct entry *entry, size_t place)
{
    struct job_sheet *sheet = &entry->job.sheets[place];
    const struct call_book_key key = {entry->group_serial, true, sheet->number};

    if (jobs->books)
        (void)call_books_view(jobs->books, key, &sheet->calls, &sheet->call_count);
}

void entry_take_calls(struct jobs *jobs, struct entry *entry, bool of_ended)
{
    const struct call_book_key key = {.job = entry->group_serial};

    if (!jobs->books || !call_books_view(jobs->books, key, &entry->job.calls, &entry->job.call_count))
        return;
    for (size_t i = 0; i < entry->job.sheet_count; i++)
        if (of_ended || entry->sheets[i].group)
            sheet_take_calls(jobs, entry, i);
}

void jobs_take_calls(struct jobs *jobs, const char *job_id)
{
    struct entry *entry = entry_find(jobs, job_id);

    if (entry)
        entry_take_calls(jobs, entry, true);
}

static void entry_calls_counted(struct jobs *jobs, struct entry *entry, struct call_book_key key)
{
    if (entry->group_serial != key.job)
        return;
    entry_take_calls(jobs, entry, true);
    entry->part.changed = true;
    for (size_t i = 0; i < entry->job.sheet_count; i++)
        if (key.has_sheet && entry->job.sheets[i].number == key.sheet_num)
            entry->sheets[i].changed = true;
}

void jobs_calls_counted(struct jobs *jobs, struct call_book_key key)
{
    struct entry *entry, *next;

    HASH_ITER (hh, jobs->by_id, entry, next)
        entry_calls_counted(jobs, entry, key);
    for (entry = jobs->replaced; entry; entry = entry->next_replaced)
        entry_calls_counted(jobs, entry, key);
}

static void book_restore(struct jobs *jobs, struct call_book_key key, const struct snapshot_call *calls,
                         size_t count)
{
    struct syscall_table *table = calls ? call_books_open(jobs->books, key) : NULL;

    for (size_t i = 0; table && i < count; i++) {
        const struct syscall_totals totals = {.count = calls[i].count,
                                              .ns = (uint64_t)(calls[i].seconds * 1e9)};
        (void)syscall_table_add_named(table, calls[i].name, &totals);
    }
}

void entry_restore_calls(struct jobs *jobs, struct entry *entry, const struct job *job)
{
    const uint64_t serial = entry->group_serial;

    if (!jobs->books)
        return;
    book_restore(jobs, (struct call_book_key){.job = serial}, job->calls, job->call_count);
    for (size_t i = 0; i < job->sheet_count; i++) {
        const struct job_sheet *sheet = &job->sheets[i];

        book_restore(jobs, (struct call_book_key){serial, true, sheet->number}, sheet->calls,
                     sheet->call_count);
    }
    entry_take_calls(jobs, entry, true);
}

void entry_forget_calls(struct jobs *jobs, const struct entry *entry)
{
    if (jobs->books)
        call_books_forget(jobs->books, entry->group_serial);
}
