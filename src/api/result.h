/* Inside api/: what comes back of a run. */
#ifndef METRON_API_RESULT_H
#define METRON_API_RESULT_H

#include <metron.h>

#include "base/json_reader.h"

struct metron_record {
    struct json_text text; /* borrowed, ended by NUL */
};

/* From the object of the feed's last line. NULL: no memory, or it is none. */
struct metron_result *result_new(const struct json_text *end);

#endif
