/*
 * What a terminal takes for colours (ECMA-48). One word for one thing: green is what went well, red what did
 * not, yellow what deserves a look, magenta what is lost, cyan what still runs.
 */
#ifndef METRON_VIEW_COLORS_H
#define METRON_VIEW_COLORS_H

#define COLOR_BOLD    "\033[1m"
#define COLOR_DIM     "\033[2m"
#define COLOR_RED     "\033[31m"
#define COLOR_GREEN   "\033[32m"
#define COLOR_YELLOW  "\033[33m"
#define COLOR_MAGENTA "\033[35m"
#define COLOR_CYAN    "\033[36m"
#define COLOR_END     "\033[0m"

#endif
