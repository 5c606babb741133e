/*
 * Commands as people read them on one line of a screen: the lines of a script joined, and cut to a width so
 * that one still sees what ran:
 *
 *     python3 /data/project/code/train.py --epochs 3 --seed 7
 *     python3 …/train.py --epochs 3…        its end is cut, the program and the script stay
 *     python3 …/train.py…--seed 7           where the end tells it from others
 *     …/cc1plus -quiet… src/table.cc…       of a compiler its source file stays (view/compiler_command.h)
 */
#ifndef METRON_VIEW_COMMAND_LINE_H
#define METRON_VIEW_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* Adds `length` bytes of a text fit for one line of a terminal: a line break or a tab, with the blanks around
 * it, is one blank; all other control characters can be seen. Commands are recorded with \x0a for a line
 * break: that is one too. */
void text_one_line(struct strbuf *out, const char *text, size_t length);

/* The same of at most `limit` bytes of it; … replaces the rest. */
void text_one_line_cut(struct strbuf *out, const char *text, size_t limit);

/* Adds a command of one line in at most `width` columns and returns how many it took. `end_matters`: of what
 * has to go, the middle goes first. One that fits is added as it is. */
size_t command_fit(struct strbuf *out, const char *text, size_t length, size_t width, bool end_matters);

#endif
