/* Inside api/: what options are made of. Not for other rooms. */
#ifndef METRON_API_OPTIONS_H
#define METRON_API_OPTIONS_H

#include <metron.h>

#include "base/strbuf.h"
#include "settings/settings.h"

struct metron_callbacks {
    metron_record_callback *on_record;
    metron_event_callback *on_event;
    metron_log_callback *on_log;
    void *record_context, *event_context, *log_context;
};

struct metron_options {
    struct settings settings; /* what is set here, checked; the rest is the program's to find */
    struct metron_callbacks callbacks;
};

/* Appends what the program is told of them, as words of a command line, each ended by NUL, for run or attach.
 * `options` NULL: nothing is set. -EINVAL: one is not of this command. */
int options_words(const struct metron_options *options, enum command command, struct strbuf *words,
                  struct metron_error *error);

#endif
