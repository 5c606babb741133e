#include "view/report/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash_table.h"
#include "base/text.h"

struct entry {
    struct report_group group;
    UT_hash_handle hh;
    size_t length;
    char key[]; /* the number as bytes, who NUL whom NUL */
};

struct report_groups {
    struct entry *map;
    uint64_t total;
    size_t command_bytes; /* that are kept */
};

struct report_groups *report_groups_new(void)
{
    return calloc(1, sizeof(struct report_groups));
}

static void entry_free(struct entry *entry)
{
    report_command_free(&entry->group.first, NULL);
    free(entry);
}

void report_groups_free(struct report_groups *groups)
{
    if (groups)
        HASH_FREE_ALL(groups->map, entry_free);
    free(groups);
}

static struct entry *entry_new(const char *key, size_t length, size_t who_length)
{
    struct entry *entry = calloc(1, sizeof(*entry) + length);

    if (!entry)
        return NULL;
    memcpy(entry->key, key, length);
    memcpy(&entry->group.number, key, sizeof(entry->group.number));
    entry->length = length;
    entry->group.who = entry->key + sizeof(entry->group.number);
    entry->group.whom = entry->group.who + who_length + 1;
    return entry;
}

void report_groups_count(struct report_groups *groups, int number, const char *who, const char *whom,
                         struct report_command command)
{
    char key[sizeof(number) + (size_t)2 * (REPORT_GROUP_TEXT_MAX + 1)];
    struct entry *entry = NULL;

    who = who ? who : "";
    whom = whom ? whom : "";
    size_t who_length = text_cut(who, REPORT_GROUP_TEXT_MAX), at = sizeof(number);
    size_t whom_length = text_cut(whom, REPORT_GROUP_TEXT_MAX);
    memcpy(key, &number, sizeof(number));
    memcpy(key + at, who, who_length);
    at += who_length;
    key[at++] = '\0';
    memcpy(key + at, whom, whom_length);
    at += whom_length;
    key[at++] = '\0';

    groups->total++;
    HASH_FIND(hh, groups->map, key, at, entry);
    if (!entry && HASH_COUNT(groups->map) < REPORT_GROUPS_MAX && (entry = entry_new(key, at, who_length))) {
        report_command_keep(&entry->group.first, command, &groups->command_bytes);
        HASH_ADD_KEYPTR(hh, groups->map, entry->key, entry->length, entry);
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
    return groups ? HASH_COUNT(groups->map) : 0;
}

size_t report_groups_top(const struct report_groups *groups, const char *whom, struct report_group *out,
                         size_t limit)
{
    size_t count = 0;

    /* In the order in which they came: uthash keeps it. */
    for (const struct entry *entry = groups ? groups->map : NULL; entry; entry = entry->hh.next) {
        size_t at = count;
        if (whom && strcmp(whom, entry->group.whom) != 0)
            continue;
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
