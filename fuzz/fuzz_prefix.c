/*
 * Any text as an output prefix: it is expanded, or refused with a reason; and no value of a placeholder ever
 * names a folder.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/run_folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t slashes(const char *text)
{
    size_t count = 0;

    while ((text = strchr(text, '/')) != NULL) {
        count++;
        text++;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct prefix_values values = {
        .wall = {1763192573, 0}, .pid = 4711, .host = "a/host", .job = "../{job}"};
    struct metron_error error = {0};
    struct strbuf out = STRBUF_INIT;
    char *pattern = malloc(size + 1);

    if (!pattern || setenv("RANK", "/1/{pid}/", 1) != 0)
        abort();
    if (size > 0)
        memcpy(pattern, data, size);
    pattern[size] = '\0';
    int code = run_folder_expand(pattern, &values, &out, &error);
    if (code == 0 ? slashes(strbuf_text(&out)) > slashes(pattern) : code != -EINVAL || !error.message[0])
        abort();
    strbuf_fini(&out);
    free(pattern);
    return 0;
}
