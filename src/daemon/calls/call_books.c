#include "daemon/calls/call_books.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash_table.h"

struct book {
    struct call_book_key key;
    struct syscall_table table;
    struct snapshot_call *view;
    size_t view_capacity;
    UT_hash_handle hh;
};

struct call_books {
    struct book *by_key;
};

struct call_books *call_books_new(void)
{
    return calloc(1, sizeof(struct call_books));
}

static void book_free(struct call_books *books, struct book *book)
{
    HASH_DEL(books->by_key, book); /* NOLINT(clang-analyzer-unix.Malloc): not the one just freed */
    syscall_table_fini(&book->table);
    free(book->view);
    free(book);
}

void call_books_free(struct call_books *books)
{
    struct book *book, *next;

    if (!books)
        return;
    HASH_ITER (hh, books->by_key, book, next)
        book_free(books, book);
    free(books);
}

static struct book *book_find(const struct call_books *books, const struct call_book_key *key)
{
    struct book *book;

    HASH_FIND(hh, books->by_key, key, sizeof(*key), book);
    return book;
}

struct syscall_table *call_books_find(const struct call_books *books, struct call_book_key key)
{
    struct book *book = book_find(books, &key);

    return book ? &book->table : NULL;
}

struct syscall_table *call_books_open(struct call_books *books, struct call_book_key key)
{
    struct book *book;

    HASH_FIND_OR_ADD(books->by_key, key, &key, book);
    return book ? &book->table : NULL;
}

static int compare_time(const void *left, const void *right)
{
    const struct snapshot_call *a = left, *b = right;

    if (a->seconds != b->seconds)
        return a->seconds > b->seconds ? -1 : 1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void fill(struct snapshot_call *calls, const struct syscall_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        calls[i] = (struct snapshot_call){
            .name = table->entries[i].name,
            .count = table->entries[i].totals.count,
            .seconds = (double)table->entries[i].totals.ns / (double)NS_PER_SECOND,
        };
    if (table->count)
        qsort(calls, table->count, sizeof(*calls), compare_time);
}

bool call_books_view(struct call_books *books, struct call_book_key key, const struct snapshot_call **calls,
                     size_t *count)
{
    struct book *book = book_find(books, &key);

    if (!book || !book->table.count)
        return false;
    if (ARRAY_RESERVE(book->view, book->view_capacity, book->table.count) < 0)
        return false;
    fill(book->view, &book->table);
    *calls = book->view;
    *count = book->table.count;
    return true;
}

void call_books_forget(struct call_books *books, uint64_t job)
{
    struct book *book, *next;

    HASH_ITER (hh, books->by_key, book, next)
        if (book->key.job == job)
            book_free(books, book);
}

void calls_fill(const struct process_calls *processes, struct snapshot *snapshot)
{
    for (const struct counted *counted = NULL; (counted = process_calls_next(processes, counted));) {
        struct snapshot_process *out =
            counted->place.marked ? (struct snapshot_process *)snapshot_find(snapshot, counted->subject.id)
                                  : NULL;
        if (!out || out->serial != counted->subject.serial)
            continue;
        struct snapshot_call *calls =
            arena_alloc(&snapshot->arena, (counted->table.count + 1) * sizeof(*calls));
        if (calls)
            fill(calls, &counted->table);
        out->calls = calls;
        out->call_count = calls ? counted->table.count : 0;
    }
}

bool calls_copy(struct arena *arena, const struct snapshot_call **calls, size_t count)
{
    struct snapshot_call *copy = *calls ? arena_alloc(arena, (count + 1) * sizeof(*copy)) : NULL;

    if (copy && count)
        (void)memcpy(copy, *calls, count * sizeof(*copy));
    bool whole = copy || !*calls;
    *calls = copy;
    return whole;
}
