/*
 * Reading recorded runs back: info.json of metron and of con-duct, whole or only the fields that are asked
 * for. Nothing in these files is trusted: what is damaged is an error that names the file and the place.
 */
#ifndef METRON_STORE_RECORDING_READER_H
#define METRON_STORE_RECORDING_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "schema/recording.h"
#include "schema/run_info.h"

/* An info.json is not larger than this. */
#define RECORDING_INFO_MAX ((size_t)16 << 20)

/* Who records a run that says that it runs. */
struct recorder {
    const char *boot_id, *hostname; /* NULL: not told */
    pid_t pid;
    uint64_t start_ticks;
    double start_wall;      /* unix seconds; 0: unknown */
    const char *usage_path; /* where its newest record stands; NULL: there is none */
};

/* Whether it still lives: the same boot, pid and start; or on another machine, by its last sign. */
typedef bool recorder_lives(void *context, const struct recorder *recorder);

/* Makes the headline of a run from its records. False: there are none, or they cannot be read. */
typedef bool headline_maker(const struct recording *recording, struct headline *out);

/* Writes what a key of metron's is, as provenance.measurements has it; nothing of a key that it does not
 * know. */
typedef void key_describer(struct json *json, const char *key);

struct recording_wish {
    /* Only these fields, NULL-terminated (aliases bring what they are made of); NULL: all. Summary keys other
     * than those in the comment of struct recorded_field have their unit only with `keys`. */
    const char *const *fields;
    bool parts;            /* NAME_source, NAME_note and NAME_bound of the aliases are fields as well */
    bool keys;             /* the registry: recording.keys */
    bool units_only;       /* of it: no topic and no bound, which take time */
    bool info_only;        /* no other file is looked for: no usage_path and events_path of one that ended */
    recorder_lives *lives; /* NULL: one that says that it runs is believed */
    key_describer *describe;       /* for a run of metron without an info.json; NULL: it has no keys */
    headline_maker *make_headline; /* for a running one whose info.json has none yet; NULL: it has none */
    void *context;
    double now; /* unix seconds, for the wall time of running ones; 0: they have none */
};

/* The info.json that `path` means, in *info: `path` is an info.json, another file of the same run, or its
 * prefix (".metron/logs/2026…_", or a folder that is one or holds one run). It may be missing, where there is
 * a usage file beside it. 0; -ENOENT: there is no run; others of the file system. */
int recording_find(const char *path, struct strbuf *info, struct metron_error *error);
/* Whether a file, a folder or a prefix has this very name, be there a run that can be read or not. An empty
 * name is taken for one, so that its reader complains of it. */
bool recording_is_named(const char *path);
/* The usage file beside an info.json, in *usage. False: there is none. */
bool recording_usage_beside(const char *info, struct strbuf *usage);
/* Reads the run that `path` means, as above. Of one whose info.json is missing or empty it is made up of the
 * usage file (usage_only.h), and its status is unknown. 0; -ENOENT: there is no run; -EBADMSG: damaged, empty
 * or another program's (with the place); -ENOTSUP: a schema that this metron does not know; -EFBIG; others of
 * the file. On failure *out is empty. */
int recording_read(const char *path, const struct recording_wish *wish, struct recording *out,
                   struct metron_error *error);
/* The same from bytes, for tests and fuzzing; paths are taken to lie beside `path`. */
int recording_parse(const char *bytes, size_t length, const char *path, const struct recording_wish *wish,
                    struct recording *out, struct metron_error *error);

#endif
