/*
 * A command cut to the width of a column so that one still sees what ran:
 *
 *     python3 /data/project/code/train.py --epochs 3 --seed 7
 *     python3 …/train.py --epochs 3…        its end is cut, the program and the script stay
 *     python3 …/train.py…--seed 7           where the end tells it from others
 */
#ifndef METRON_VIEW_LIST_COMMAND_FIT_H
#define METRON_VIEW_LIST_COMMAND_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* Adds it in at most `width` columns and returns how many it took. `end_matters`: of what has to go, the
 * middle goes first. A text that fits is added as it is. */
size_t command_fit(struct strbuf *out, const char *text, size_t length, size_t width, bool end_matters);

#endif
