/*
 * "Did you mean …?": the known names nearest to one that is not known.
 *
 *     struct suggest suggest;
 *     suggest_init(&suggest, wrong);
 *     for (every known name)
 *         suggest_offer(&suggest, name);
 *     suggest_text(&suggest, "--", text);
 *
 * Near means few edits, or containing the wrong name whole. A name that is offered twice counts once. Nothing
 * is copied: names must outlive the struct.
 */
#ifndef METRON_BASE_SUGGEST_H
#define METRON_BASE_SUGGEST_H

#include <stddef.h>

#define SUGGEST_MAX       3
#define SUGGEST_TEXT_SIZE 256

struct suggest {
    const char *wrong;
    const char *names[SUGGEST_MAX]; /* nearest first */
    size_t distances[SUGGEST_MAX];
    size_t count;
};

void suggest_init(struct suggest *suggest, const char *wrong);
void suggest_offer(struct suggest *suggest, const char *name);
/* " (did you mean '--a', '--b' or '--c'?)", each name with `before` ("--", "") in front; "" when nothing is
 * near. Returns out. */
char *suggest_text(const struct suggest *suggest, const char *before, char out[SUGGEST_TEXT_SIZE]);

#endif
