/*
 * Finding recorded runs: info.json files of metron and of con-duct.
 */
#ifndef METRON_STORE_RUNS_H
#define METRON_STORE_RUNS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct run_list {
    char **paths; /* of info.json files; owned */
    size_t count, capacity;
};

/* Adds the runs at `path`: an info.json, another file of a run, a prefix, a glob of any of these, or a
 * folder, which is searched with all below it (not through links, at most 64 deep) for files that end in
 * info.json. A file, folder or run whose name is that very text comes before a glob. 0 and how many were
 * added in *added (may be NULL); -ENOENT: there is nothing; others of the file system. */
int run_list_add(struct run_list *list, const char *path, size_t *added, struct metron_error *error);
/* Adds the runs whose files lie in the current folder itself; no other is read. The same errors. */
int run_list_add_here(struct run_list *list, struct metron_error *error);
/* Adds a copy of the path of an info.json: 0 or -ENOMEM. */
int run_list_take(struct run_list *list, const char *path);
/* Whether a file, a folder or a run has this very name, so that it is no glob. */
bool run_list_is_name(const char *path);
/* By name; a path that was found twice stays once. */
void run_list_sort(struct run_list *list);
/* For a walk over the list, before each is read: has the kernel fetch those that come soon. Else thousands of
 * runs that are not in memory are thousands of waits for the disk. */
void run_list_prefetch(const struct run_list *list, size_t index);
void run_list_fini(struct run_list *list);

#endif
