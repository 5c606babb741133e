/*
 * What happened to processes, jobs and sheets: one line each, for people. Columns are fixed, since events
 * come one by one and nobody knows the next.
 *
 *     TIME          WHAT           PID  JOB/SHEET       HOW        COMMAND
 *     22:22:22.029  exit         14907  night/1         code 1     /usr/bin/readlink pip-rehash.bash
 */
#ifndef METRON_VIEW_EVENT_LINES_H
#define METRON_VIEW_EVENT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/strbuf.h"

struct event_lines {
    size_t width; /* columns of the screen; 0: nothing is cut */
    int day;      /* the day of the line before, as tm_yday; -1: there was none */
};

/* `now`: of another day than this one it is said once which it is. */
void event_lines_begin(struct event_lines *lines, size_t width, time_t now, struct strbuf *out);
/* Adds a line. `json`: an event as daemon.events has it, or the params of a monitor.event. False: it is
 * neither, and nothing was added. */
bool event_lines_add(struct event_lines *lines, const char *json, size_t length, struct strbuf *out);
/* Whether it is an event of this job. */
bool event_is_of_job(const char *json, size_t length, const char *job);

#endif
