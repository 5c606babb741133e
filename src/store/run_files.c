#include "store/run_files.h"

#include <string.h>

#include "base/text.h"

const char *const run_file_names[RUN_FILE_COUNT] = {
    [RUN_STDOUT] = "stdout",       [RUN_STDERR] = "stderr",    [RUN_USAGE] = "usage.jsonl",
    [RUN_EVENTS] = "events.jsonl", [RUN_INFO] = RUN_INFO_NAME,
};

ptrdiff_t run_prefix_length(const char *path)
{
    for (size_t i = 0; i <= RUN_FILE_COUNT; i++) {
        const char *name = i < RUN_FILE_COUNT ? run_file_names[i] : RUN_DUCT_USAGE_NAME;

        if (text_ends_with(path, name))
            return (ptrdiff_t)(strlen(path) - strlen(name));
    }
    return -1;
}
