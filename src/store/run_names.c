#include "store/run_names.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "store/recording/reader.h"
#include "store/run_files.h"

#define CANDIDATES_NAMED 4

struct named {
    const char *path; /* of the info.json; borrowed from the list */
    const char *name; /* below the folder, without the end that all prefixes have */
    const char *base; /* the last part of it */
    const char *job;  /* NULL: none */
    uint64_t id;
    double start_wall;
};

/* All runs of a folder, the oldest first. */
struct names {
    const char *folder;
    const char *typed; /* with a folder of its own */
    struct run_list list;
    struct named *runs; /* owned */
    size_t count, unread;
    struct arena arena;
};

/* -- What is there -- */

static int by_start(const void *a, const void *b)
{
    const struct named *x = a, *y = b;

    if (x->start_wall != y->start_wall)
        return x->start_wall < y->start_wall ? -1 : 1;
    return strcmp(x->path, y->path);
}

/* ".metron/logs/2026…-812_info.json" in ".metron/logs" -> "2026…-812" */
static bool name_run(struct names *names, struct named *run)
{
    const char *path = run->path;
    size_t length = strlen(names->folder), end = (size_t)run_prefix_length(path);

    if (strncmp(path, names->folder, length) == 0)
        for (path += length, end -= length; *path == '/'; path++, end--)
            ;
    while (end > 0 && (path[end - 1] == '_' || path[end - 1] == '/'))
        end--;
    run->name = arena_copy(&names->arena, path, end);
    if (!run->name)
        return false;
    const char *slash = strrchr(run->name, '/');
    run->base = slash ? slash + 1 : run->name;
    return true;
}

/* What cannot be read is none of those that can be meant. */
static int read_one(struct names *names, const char *path)
{
    static const char *const fields[] = {"job", NULL};
    const struct recording_wish wish = {.fields = fields, .info_only = true};
    struct named *run = &names->runs[names->count];
    struct recording recording;

    if (recording_read(path, &wish, &recording, NULL) < 0) {
        names->unread++;
        return 0;
    }
    const char *job = recording_text(&recording, "job");
    *run = (struct named){.path = path, .id = recording.id, .start_wall = recording.start_wall};
    run->job = job ? arena_strdup(&names->arena, job) : NULL;
    bool is_named = name_run(names, run) && (!job || run->job);
    recording_fini(&recording);
    names->count += is_named;
    return is_named ? 0 : -ENOMEM;
}

static int read_names(struct names *names, const char *folder, struct metron_error *error)
{
    struct metron_error trouble = {0};
    struct stat status;
    int code = 0;

    *names = (struct names){.folder = folder ? folder : "."};
    if (stat(names->folder, &status) < 0)
        return errno == ENOENT ? 0 : error_set(error, -errno, "%s: %s", names->folder, strerror(errno));
    int added = folder ? run_list_add(&names->list, folder, NULL, &trouble)
                       : run_list_add_here(&names->list, &trouble);
    if (added < 0 && names->list.count == 0)
        return error_set(error, trouble.code, "%s", trouble.message);
    if (trouble.code < 0)
        log_warning("%s", trouble.message);
    run_list_sort(&names->list);
    names->runs = calloc(names->list.count + 1, sizeof(*names->runs));
    if (!names->runs)
        code = -ENOMEM;
    for (size_t i = 0; code == 0 && i < names->list.count; i++) {
        run_list_prefetch(&names->list, i);
        code = read_one(names, names->list.paths[i]);
    }
    if (code < 0)
        return error_set(error, code, "no memory for the list of runs");
    qsort(names->runs, names->count, sizeof(*names->runs), by_start);
    return 0;
}

static void names_fini(struct names *names)
{
    run_list_fini(&names->list);
    arena_fini(&names->arena);
    free(names->runs);
}

/* -- What is meant -- */

static bool begins_with(const char *text, const char *begin, size_t length)
{
    return strncmp(text, begin, length) == 0;
}

/* Without the end that prefixes have. */
static size_t name_length(const char *name)
{
    size_t length = strlen(name);

    while (length > 0 && (name[length - 1] == '_' || name[length - 1] == '/'))
        length--;
    return length;
}

static bool is_whole(const struct named *run, const char *wanted)
{
    size_t length = name_length(wanted);

    return length > 0 && ((strlen(run->name) == length && begins_with(run->name, wanted, length)) ||
                          (strlen(run->base) == length && begins_with(run->base, wanted, length)));
}

static bool is_of_job(const struct named *run, const char *wanted)
{
    return run->job && strcmp(run->job, wanted) == 0;
}

static bool is_begin(const struct named *run, const char *wanted)
{
    char id[RECORDING_ID_SIZE];
    size_t length = strlen(wanted);

    if (begins_with(run->name, wanted, length) || begins_with(run->base, wanted, length))
        return true;
    return run_names_is_id(wanted) && strncasecmp(recording_id_text(run->id, id), wanted, length) == 0;
}

/* The runs of which `holds` is true: how many. The first of them in *first. */
static size_t count_runs(const struct names *names, const char *wanted,
                         bool holds(const struct named *, const char *), const struct named **first)
{
    size_t count = 0;

    for (size_t i = 0; i < names->count; i++)
        if (holds(&names->runs[i], wanted) && count++ == 0)
            *first = &names->runs[i];
    return count;
}

static int complain_of_several(const struct names *names, const char *wanted,
                               bool holds(const struct named *, const char *), struct metron_error *error)
{
    struct strbuf text = STRBUF_INIT;
    char id[RECORDING_ID_SIZE];
    size_t count = 0;

    for (size_t i = names->count; i-- > 0;) { /* the newest first */
        const struct named *run = &names->runs[i];
        if (!holds(run, wanted) || count++ >= CANDIDATES_NAMED)
            continue;
        strbuf_addf(&text, "%s%.60s (%s)", count > 1 ? ", " : "", run->name[0] ? run->name : names->folder,
                    recording_id_text(run->id, id));
    }
    if (count > CANDIDATES_NAMED)
        strbuf_addf(&text, " and %zu more", count - CANDIDATES_NAMED);
    int code =
        error_set(error, -ENOTUNIQ, "%s may be any of %zu runs: %s", names->typed, count, strbuf_text(&text));
    strbuf_fini(&text);
    return code;
}

static bool is_of_hex_digits(const char *word)
{
    return strspn(word, "0123456789abcdefABCDEF") == strlen(word);
}

/* The beginning of an id, but for its length. */
static bool is_short_id(const char *word)
{
    return word[0] && strlen(word) < RUN_ID_TYPED_LEAST && is_of_hex_digits(word);
}

static int complain_of_none(struct names *names, const char *wanted, struct metron_error *error)
{
    struct suggest suggest;
    char near[SUGGEST_TEXT_SIZE], digits[64];

    if (names->count == 0 && names->unread > 0)
        return error_set(error, -EBADMSG, "%s: there is no such run; nothing in '%s' can be read",
                         names->typed, names->folder);
    if (names->count == 0)
        return error_set(error, -ENOENT, "%s: there is no such run, and none is recorded in '%s'",
                         names->typed, names->folder);
    suggest_init(&suggest, wanted);
    for (size_t i = names->count; i-- > 0;) {
        char id[RECORDING_ID_SIZE];
        char *kept = arena_strdup(&names->arena, recording_id_text(names->runs[i].id, id));
        size_t length = strlen(wanted);
        suggest_offer(&suggest, names->runs[i].base);
        if (names->runs[i].job)
            suggest_offer(&suggest, names->runs[i].job);
        if (!kept || length < RUN_ID_TYPED_LEAST || length >= RECORDING_ID_SIZE)
            continue;
        kept[length] = '\0'; /* as much of it as was typed */
        suggest_offer(&suggest, kept);
    }
    (void)snprintf(digits, sizeof(digits), "; an id needs %d digits", RUN_ID_TYPED_LEAST);
    return error_set(error, -ENOENT, "%s: there is no such run: none in '%s' has this id, name or job%s%s",
                     names->typed, names->folder, is_short_id(wanted) ? digits : "",
                     suggest_text(&suggest, "", near));
}

bool run_names_is_id(const char *word)
{
    size_t length = strlen(word);

    return length >= RUN_ID_TYPED_LEAST && length < RECORDING_ID_SIZE && is_of_hex_digits(word);
}

size_t run_names_place(const char *name)
{
    static const size_t most = 1000000;
    size_t place = 0;

    if (strcmp(name, "last") == 0)
        return 1;
    if (name[0] != '-' || name[1] < '1' || name[1] > '9')
        return 0;
    for (name++; isdigit((unsigned char)*name) && place < most; name++)
        place = 10 * place + (size_t)(*name - '0');
    return *name == '\0' ? place : 0;
}

static int add(struct run_list *found, const struct named *run, struct metron_error *error)
{
    return run_list_take(found, run->path) < 0 ? error_set(error, -ENOMEM, "no memory for the list of runs")
                                               : 0;
}

static int find_place(struct names *names, const char *wanted, size_t place, struct run_list *found,
                      struct metron_error *error)
{
    if (names->unread > 0)
        log_warning("%zu of %zu runs in '%s' cannot be read; metron ls tells why", names->unread,
                    names->list.count, names->folder);
    if (place <= names->count)
        return add(found, &names->runs[names->count - place], error);
    if (names->count == 0)
        return complain_of_none(names, wanted, error);
    return error_set(error, -ENOENT, "%s: there is no such run: %zu %s recorded in '%s'", names->typed,
                     names->count, names->count == 1 ? "is" : "are", names->folder);
}

static int add_job(const struct names *names, const char *wanted, struct run_list *found,
                   struct metron_error *error)
{
    int code = 0;

    for (size_t i = 0; i < names->count && code == 0; i++)
        if (is_of_job(&names->runs[i], wanted))
            code = add(found, &names->runs[i], error);
    return code;
}

static int find(struct names *names, const char *wanted, bool one, struct run_list *found,
                struct metron_error *error)
{
    const struct named *run = NULL;
    size_t place = run_names_place(wanted), count;

    if (place > 0)
        return find_place(names, wanted, place, found, error);
    count = count_runs(names, wanted, is_whole, &run);
    if (count == 1)
        return add(found, run, error);
    if (count > 1)
        return complain_of_several(names, wanted, is_whole, error);
    count = count_runs(names, wanted, is_of_job, &run);
    if (count > 1 && one)
        return complain_of_several(names, wanted, is_of_job, error);
    if (count > 0)
        return add_job(names, wanted, found, error);
    count = count_runs(names, wanted, is_begin, &run);
    if (count == 1)
        return add(found, run, error);
    return count > 1 ? complain_of_several(names, wanted, is_begin, error)
                     : complain_of_none(names, wanted, error);
}

static int find_in(const char *name, const char *folder, bool one, struct run_list *found,
                   struct metron_error *error)
{
    const char *slash = strrchr(name, '/');
    const char *const typed = name;
    struct names names = {0};
    struct stat status;
    char *own = NULL;

    if (slash && slash[1] == '\0') /* a prefix that is not there */
        slash = NULL;
    if (slash) {
        own = strndup(name, slash == name ? 1 : (size_t)(slash - name));
        if (!own)
            return error_set(error, -ENOMEM, "no memory for the list of runs");
        if (stat(own, &status) == 0 && S_ISDIR(status.st_mode)) {
            folder = own;
            name = slash + 1;
        }
    }
    int code = name[0] == '\0' ? error_set(error, -ENOENT, "an empty path names no run")
                               : read_names(&names, folder, error);
    names.typed = typed;
    if (code == 0)
        code = find(&names, name, one, found, error);
    names_fini(&names);
    free(own);
    return code;
}

int run_names_find(const char *name, const char *folder, struct run_list *found, struct metron_error *error)
{
    return find_in(name, folder, false, found, error);
}

int run_names_find_one(const char *name, const char *folder, struct run_list *found,
                       struct metron_error *error)
{
    return find_in(name, folder, true, found, error);
}
