/*
 * A screen for those who have ASCII only: every other character becomes one that is as wide.
 */
#ifndef METRON_VIEW_PLOT_ASCII_H
#define METRON_VIEW_PLOT_ASCII_H

#include <stddef.h>

#include "base/strbuf.h"

/* Rewrites what lies from `begin` to the end. What has no likeness becomes '?'. */
void plot_to_ascii(struct strbuf *text, size_t begin);

#endif
