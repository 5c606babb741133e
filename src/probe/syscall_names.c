#include "probe/syscall_names.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

/* The highest numbers in use are those of MIPS, from 4000 on three tables of up to 1000. */
#define NUMBERS        8192U
#define NUMBERS_COMPAT 1024U /* known by number only */
#define KEPT           1024U /* names that were read, beside the known */

static const struct {
    uint32_t number;
    const char *name;
} known[] = {
#define SYSCALL(NAME) {(uint32_t)__NR_##NAME, #NAME},
#include "probe/syscall_names_table.h"
#undef SYSCALL
};

static const char other[] = "syscall_other", other_compat[] = "compat_other";

/* Filled as they are asked for; under the lock, as is `kept`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *names[NUMBERS], *compat_names[NUMBERS_COMPAT];
static const char *kept[KEPT];
static size_t kept_count;

static void index_known(void)
{
    static bool done;

    if (done)
        return;
    done = true;
    /* Backwards: of two names for one number the first of the alphabet is taken. */
    for (size_t i = sizeof(known) / sizeof(known[0]); i-- > 0;)
        if (known[i].number < NUMBERS)
            names[known[i].number] = known[i].name;
}

static const char *numbered(const char **place, const char *prefix, uint32_t number, const char *otherwise)
{
    if (!*place) {
        char *text = NULL;
        if (asprintf(&text, "%s_%u", prefix, (unsigned)number) < 0)
            return otherwise;
        *place = text;
    }
    return *place;
}

static const char *name_of(uint32_t number)
{
    index_known();
    if (number < NUMBERS)
        return numbered(&names[number], "syscall", number, other);
    if (!(number & SYSCALL_COMPAT))
        return other;
    number &= ~SYSCALL_COMPAT;
    if (number < NUMBERS_COMPAT)
        return numbered(&compat_names[number], "compat", number, other_compat);
    return other_compat;
}

const char *syscall_name(uint32_t number)
{
    (void)pthread_mutex_lock(&lock);
    const char *name = name_of(number);
    (void)pthread_mutex_unlock(&lock);
    return name;
}

static const char *keep(const char *text)
{
    for (size_t i = 0; i < kept_count; i++)
        if (strcmp(kept[i], text) == 0)
            return kept[i];
    char *copy = kept_count < KEPT ? strdup(text) : NULL;
    if (!copy)
        return other;
    return kept[kept_count++] = copy;
}

const char *syscall_name_keep(const char *text)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].name, text) == 0)
            return known[i].name;
    (void)pthread_mutex_lock(&lock);
    const char *name = keep(text);
    (void)pthread_mutex_unlock(&lock);
    return name;
}
