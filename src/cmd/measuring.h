/*
 * What the commands that measure a target have in common: from settings to the options of a run, and the
 * summary at its end.
 */
#ifndef METRON_CMD_MEASURING_H
#define METRON_CMD_MEASURING_H

#include "cmd/availability.h"
#include "loop/run.h"
#include "settings/settings.h"

/* What is recorded, what it is called, how often it is looked at. */
void measuring_options(struct run_options *options, const struct settings *settings);
/* How the machine is looked at. */
void measuring_looking(struct availability_options *looking, const struct settings *settings);
/* Looks, selects, and checks what can be checked: EXIT_OK, or what to exit with, and why. */
int measuring_look(struct availability *availability, const struct availability_options *looking,
                   const struct settings *settings, struct metron_error *error);
/* The run measures with what was found. */
void measuring_use(struct run_options *options, struct availability *availability);
/* At the end, on stderr, unless it is not wanted; with --feed all that is known goes there instead. */
void measuring_summary(const struct run *run, const struct settings *settings);

#endif
