/*
 * One file of one group, by the group's folder.
 */
#ifndef METRON_PROBE_CGROUP_GROUP_H
#define METRON_PROBE_CGROUP_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CGROUP_FOLDER_SIZE 4096 /* a folder this long, or shorter */
#define CGROUP_PATH_SIZE   (CGROUP_FOLDER_SIZE + 64)

/* FOLDER/NAME; false if it does not fit. */
bool cgroup_group_path(const char *folder, const char *name, char path[CGROUP_PATH_SIZE]);
/* The beginning of a file, NUL-terminated; its length without that, or a negative errno. */
ssize_t cgroup_group_read(const char *folder, const char *name, char *text, size_t size);
/* A file that holds a number or "max" (CGROUP_NO_LIMIT), and what stands behind a key in one of many lines.
 * False if it cannot be had. */
bool cgroup_group_number(const char *folder, const char *name, uint64_t *value);
bool cgroup_group_key(const char *folder, const char *name, const char *key, uint64_t *value);
/* The cores that a quota leaves to the group; false: it has none that can be read. */
bool cgroup_group_quota(const char *folder, int version, double *cpus);
/* Whether a file of words holds this one. */
bool cgroup_group_word(const char *folder, const char *name, const char *word);
/* One short write. 0 or a negative errno. */
int cgroup_group_write(const char *folder, const char *name, const char *text);

#endif
