/*
 * Names of the errors that system calls return, those of the kernel's own among them: at the return of a call
 * that a signal has interrupted the kernel has still to decide whether it begins it anew.
 */
#ifndef METRON_PROBE_ERROR_NAMES_H
#define METRON_PROBE_ERROR_NAMES_H

#include <stddef.h>

#define ERROR_NUMBER_MAX 4095
#define ERROR_NAME_SIZE  24

/* "ENOENT"; the number of one that has no name. Lasts, or is in `out`. */
const char *error_name(int number, char out[ERROR_NAME_SIZE]);
/* 0: there is no such name. */
int error_number_named(const char *name, size_t length);

#endif
