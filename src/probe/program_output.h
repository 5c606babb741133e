/*
 * Running an outside program for what it prints: no shell, and nothing of our own surroundings. It gets
 * default signals, a process group of its own (the keyboard's Ctrl-C is for the command), no input, and no
 * terminal.
 *
 * It is a child of ours while it runs. Every wait has a limit: a program that hangs is killed, and one that
 * not even that ends at once is the caller's to wait for later.
 */
#ifndef METRON_PROBE_PROGRAM_OUTPUT_H
#define METRON_PROBE_PROGRAM_OUTPUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/strbuf.h"

#define PROGRAM_PATH_SIZE 4096

/* Looks for it in the folders of PATH, passing over those that are not absolute. 0; -ENOENT: there is none,
 * and `path` is empty. */
int program_find(const char *name, char path[PROGRAM_PATH_SIZE]);
/* Starts it; what it prints comes out of `*output`, which the caller closes. 0 or a negative errno. */
int program_start(const char *path, char *const argv[], char *const environment[], pid_t *pid, int *output);
/* Reads to its end. -ETIME: it did not end in time; -EFBIG: more than `most` bytes; another negative errno.
 */
int program_read(int output, uint64_t deadline_ns, size_t most, struct strbuf *text);
/* 0, with its wait status; -ETIME: it is still there; -ECHILD: somebody else waited for it. Both may be NULL.
 */
int program_wait(pid_t pid, uint64_t deadline_ns, int *status, struct rusage *usage);

#endif
