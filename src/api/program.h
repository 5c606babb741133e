/* Inside api/: the program metron. */
#ifndef METRON_API_PROGRAM_H
#define METRON_API_PROGRAM_H

#include <limits.h>
#include <metron.h>

/* Where it is: beside the library (a build folder), or where both were installed, wherever that tree was
 * moved to. -ENOSYS: it is not there. */
int program_find(char path[PATH_MAX], struct metron_error *error);

/* The program under way. */
struct program {
    pid_t pid;
    int pid_fd; /* -1: this kernel has none (before Linux 5.3) */
};

/* Starts it with this NULL-terminated command line, in which descriptor `fd` stays open. */
int program_start(const char *path, char *const argv[], int fd, struct program *out,
                  struct metron_error *error);
/* Waits for its end. If somebody else did that already, there is nothing to do. */
void program_finish(struct program *program);

#endif
