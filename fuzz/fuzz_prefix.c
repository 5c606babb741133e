/*
 * Any text as an output prefix: it is expanded, or refused with a reason; and no value of a placeholder ever
 * names a folder, or leads to one.
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

/* How many folders of a path are "." or "..". */
static size_t dots(const char *path)
{
    size_t count = 0;

    for (const char *slash; (slash = strchr(path, '/')) != NULL; path = slash + 1) {
        size_t length = (size_t)(slash - path);
        count += length > 0 && length <= 2 && strspn(path, ".") == length;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct prefix_values values = {
        .wall = {1763192573, 0}, .pid = 4711, .host = "a/host", .job = "../{job}"};
    static const char *const ranks[] = {"/1/{pid}/", ".", "..", ""};
    struct metron_error error = {0};
    struct strbuf out = STRBUF_INIT;
    char *pattern = malloc(size + 1);

    if (!pattern || setenv("RANK", ranks[size % 4], 1) != 0)
        abort();
    if (size > 0)
        memcpy(pattern, data, size);
    pattern[size] = '\0';
    int code = run_folder_expand(pattern, &values, &out, &error);
    if (code == 0 ? slashes(strbuf_text(&out)) > slashes(pattern) : code != -EINVAL || !error.message[0])
        abort();
    if (code == 0 &&
        (dots(strbuf_text(&out)) > dots(pattern) || (pattern[0] != '/' && *strbuf_text(&out) == '/')))
        abort();
    strbuf_fini(&out);
    free(pattern);
    return 0;
}
