#include "probe/breakage.h"

#include <stddef.h>
#include <string.h>

static const char *broken; /* the list; NULL: nothing is */

static const char *const readers[] = {
    "stat",      "statm", "status",       "children", "cmdline", "limits", "fd",
    "task",      "io",    "smaps_rollup", "meminfo",  "loadavg", "cpu",    "clock",
    "connector", "bpf",   "strace",       "pressure", "cgroup",  "ps",     "gpu",
};

/* The next name of a list and its length, or NULL at its end. */
static const char *next_name(const char **list, size_t *length)
{
    *list += strspn(*list, ", ");
    *length = strcspn(*list, ", ");
    const char *name = *length > 0 ? *list : NULL;
    *list += *length;
    return name;
}

static bool is_name(const char *word, size_t length, const char *wanted)
{
    return strlen(wanted) == length && memcmp(word, wanted, length) == 0;
}

void breakage_set(const char *list)
{
    broken = list && list[0] ? list : NULL;
}

bool breakage_has(const char *reader)
{
    size_t length;

    if (!broken)
        return false;
    const char *rest = broken;
    for (const char *name; (name = next_name(&rest, &length)) != NULL;)
        if (is_name(name, length, reader))
            return true;
    return false;
}

const char *breakage_unknown(const char *list, unsigned *length)
{
    size_t found;

    for (const char *name; (name = next_name(&list, &found)) != NULL;) {
        bool known = false;
        for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
            known = known || is_name(name, found, readers[i]);
        if (!known) {
            *length = (unsigned)found;
            return name;
        }
    }
    return NULL;
}
