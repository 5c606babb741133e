/*
 * Errors that a person will read.
 *
 * Functions return 0 (or a count) on success and a negative errno value on failure. Where the
 * reason ends up in front of a person, the last parameter is a `struct metron_error` that the
 * callee fills; passing NULL is always allowed and means "the code is enough". The struct is the
 * library's, since its users read it too.
 */
#ifndef METRON_BASE_ERROR_H
#define METRON_BASE_ERROR_H

#include <metron.h>
#include <stdbool.h>

/* Fills `error` (may be NULL) and returns `code`, so that callers can `return error_set(...)`. Control
 * characters and invalid UTF-8 become \xNN, so that a message may quote anything. */
int error_set(struct metron_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Whether a negative errno is a condition of the machine, say a full disk or too few descriptors: not what a
 * user got wrong and can correct. */
bool error_is_of_machine(int code);

#endif
