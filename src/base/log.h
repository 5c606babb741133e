/*
 * Messages about metron itself, on stderr, one line each ("metron: warning: …").
 * The level and colour are set once, by cmd/, before any thread starts. A message is one write, so that
 * lines of several threads never mix. Control characters and invalid UTF-8 are shown as \xNN, so that a
 * message may quote anything.
 */
#ifndef METRON_BASE_LOG_H
#define METRON_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_LEVEL_NONE, LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_setup(enum log_level level, bool colors);
/* From now on messages go there, printable and without a line end, instead of to stderr; from any thread. */
void log_set_sink(void (*sink)(void *context, enum log_level level, const char *message), void *context);
bool log_enabled(enum log_level level);
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
