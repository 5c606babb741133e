#include "view/report/groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1 /* uthash would exit() */
#include <uthash.h>

struct entry {
    struct report_group group;
    UT_hash_handle hh;
    size_t length;
    char key[]; /* the number as bytes, who NUL whom NUL */
};

struct report_groups {
    struct entry *map;
    size_t size;
    uint64_t total;
};

struct report_groups *report_groups_new(void)
{
    return calloc(1, sizeof(struct report_groups));
}

void report_groups_free(struct report_groups *groups)
{
    struct entry *entry, *next;

    if (!groups)
        return;
    HASH_ITER (hh, groups->map, entry, next) {
        HASH_DEL(groups->map, entry); /* NOLINT(clang-analyzer-unix.Malloc): not the one just freed */
        free(entry);
    }
    free(groups);
}

/* At most the limit, and no character in two. */
static size_t text_length(const char *text)
{
    size_t length = strnlen(text, REPORT_GROUP_TEXT_MAX);

    if (length == REPORT_GROUP_TEXT_MAX)
        while (length && ((unsigned char)text[length] & 0xC0) == 0x80)
            length--;
    return length;
}

static struct entry *entry_new(const char *key, size_t length, int number, size_t who_length)
{
    struct entry *entry = calloc(1, sizeof(*entry) + length);

    if (!entry)
        return NULL;
    memcpy(entry->key, key, length);
    entry->length = length;
    entry->group.number = number;
    entry->group.who = entry->key + sizeof(number);
    entry->group.whom = entry->group.who + who_length + 1;
    return entry;
}

void report_groups_count(struct report_groups *groups, int number, const char *who, const char *whom)
{
    char key[sizeof(number) + (size_t)2 * (REPORT_GROUP_TEXT_MAX + 1)];
    struct entry *entry = NULL;

    who = who ? who : "";
    whom = whom ? whom : "";
    size_t who_length = text_length(who), whom_length = text_length(whom), at = sizeof(number);
    memcpy(key, &number, sizeof(number));
    memcpy(key + at, who, who_length);
    at += who_length;
    key[at++] = '\0';
    memcpy(key + at, whom, whom_length);
    at += whom_length;
    key[at++] = '\0';

    groups->total++;
    HASH_FIND(hh, groups->map, key, at, entry);
    if (!entry && groups->size < REPORT_GROUPS_MAX && (entry = entry_new(key, at, number, who_length))) {
        HASH_ADD_KEYPTR(hh, groups->map, entry->key, entry->length, entry);
        groups->size++;
    }
    if (entry)
        entry->group.count++;
}

uint64_t report_groups_total(const struct report_groups *groups)
{
    return groups ? groups->total : 0;
}

size_t report_groups_size(const struct report_groups *groups)
{
    return groups ? groups->size : 0;
}

size_t report_groups_top(const struct report_groups *groups, struct report_group *out, size_t limit)
{
    size_t count = 0;

    /* In the order in which they came: uthash keeps it. */
    for (const struct entry *entry = groups ? groups->map : NULL; entry; entry = entry->hh.next) {
        size_t at = count;
        while (at > 0 && out[at - 1].count < entry->group.count)
            at--;
        if (at == limit)
            continue;
        count += count < limit;
        memmove(&out[at + 1], &out[at], (count - at - 1) * sizeof(*out));
        out[at] = entry->group;
    }
    return count;
}
