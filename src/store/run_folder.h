/*
 * The files of one run: stdout, stderr, usage.jsonl, events.jsonl, info.json, all behind one prefix.
 *
 * Files are private (0600, folders 0700) and made before the command starts, so that an unwritable prefix is
 * known in time. usage.jsonl and events.jsonl hold whole lines at every moment that a write has not failed;
 * one cut short by a full disk is taken back. info.json is always replaced as a whole; the space for the last
 * one, and for that alone, is reserved with the first, so that a command that fills the disk does not cost
 * its own result. Of two runs that want the same prefix at the same moment one gets it: each file is made by
 * one of them alone.
 */
#ifndef METRON_STORE_RUN_FOLDER_H
#define METRON_STORE_RUN_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "schema/event.h"
#include "schema/record.h"
#include "schema/run_info.h"
#include "store/run_files.h"
#include "store/write_queue.h"

struct run_folder {
    bool wanted[RUN_FILE_COUNT];   /* part of this run */
    char *prefix;                  /* owned; NULL: no file has been made */
    int folder_fd;                 /* of a prefix that metron chose: where its files are; else AT_FDCWD */
    char *paths[RUN_FILE_COUNT];   /* owned; NULL: not part of this run */
    int fds[RUN_FILE_COUNT];       /* -1 where there is none (info.json is written by name) */
    bool has_info;                 /* info.json is ours to replace */
    int reserved_fd;               /* space for its last version if there is no other; negative: none */
    off_t lengths[RUN_FILE_COUNT]; /* of whole lines, for the two line files */
    bool made_folder;              /* the prefix is a folder, and it was made here */
    bool write_behind_tried;
    struct write_queue *queue; /* its thread writes; NULL: the caller's does */
    struct strbuf text;        /* scratch */
    struct strbuf events;      /* lines not written yet */
};

/* More runs than these do not begin in the same second with the same pid. */
enum { RUN_NAMES_TRIED = 10000 };

/* What {placeholders} of a prefix stand for. */
struct prefix_values {
    struct timespec wall;
    pid_t pid;
    const char *host;
    const char *job; /* NULL: {job} is an error */
    unsigned number; /* above 1: so many runs have this time and pid; it follows the pid ("4711-2") */
};

/* Fills the placeholders {datetime} {pid} {host} {job} {env:NAME}; `{{` and `}}` are braces. A '/' inside a
 * value becomes '_', and so do the dots of a folder's name that would be "." or ".." with a value. -EINVAL
 * with the position or name that is wrong. */
int run_folder_expand(const char *pattern, const struct prefix_values *values, struct strbuf *out,
                      struct metron_error *error);
/* `wanted` is indexed by enum run_file. Makes nothing yet; events may be added. */
void run_folder_init(struct run_folder *folder, const bool wanted[RUN_FILE_COUNT]);
/* Makes the leading folders and the wanted files but info.json. An existing one is an error (-EEXIST) unless
 * `clobber`, which removes the older run's files; but nothing that is not a regular file (-EEXIST).
 * `is_default`: metron chose the prefix, so it writes only to a folder of the caller or of root. On failure
 * nothing that was made here is left but leading folders, and another prefix may be tried. */
int run_folder_open(struct run_folder *folder, const char *prefix, bool clobber, bool is_default,
                    struct metron_error *error);
/* Each writes one thing if its file is part of the run: 0 or a negative errno. -EEXIST of the first
 * info.json: another run has made one in the meantime, and it stays. `bytes` of the record's line, whether or
 * not it could be written; left alone where there is no file of records. */
int run_folder_write_record(struct run_folder *folder, const struct record *record, size_t *bytes);
int run_folder_write_info(struct run_folder *folder, const struct run_info *info);
/* Events are gathered and written when there are many or at a flush, once the files are open. */
int run_folder_add_event(struct run_folder *folder, const struct event *event);
int run_folder_flush_events(struct run_folder *folder);
/* From here on a thread writes usage.jsonl, events.jsonl and info.json, so that a disk that hangs does not
 * delay the caller. A write then returns at once: 0, or the negative errno of an earlier one, or -ENOBUFS if
 * too much waits for the disk already. Where there can be no thread nothing changes. `begin`: called first in
 * the new thread; may be NULL. */
void run_folder_write_behind(struct run_folder *folder, void (*begin)(void));
/* Waits until all is written; from here on the caller's thread writes again. `codes`: of writes that failed
 * and were not reported yet. `dropped`: lines that were never written because too much waited. */
void run_folder_finish(struct run_folder *folder, int codes[RUN_FILE_COUNT],
                       uint64_t dropped[RUN_FILE_COUNT]);
/* Removes the files of this run, and the prefix's own folder if it was made here and is empty then. */
void run_folder_remove(struct run_folder *folder);
void run_folder_close(struct run_folder *folder);

#endif
