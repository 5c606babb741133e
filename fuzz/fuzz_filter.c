/* Expressions of --filter: what is parsed can be asked of any recording, what is refused points into the
 * text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/filter/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Any name of the expression becomes a field, of one kind or another. */
static struct recorded_field make_field(const char *name)
{
    static const char *const texts[] = {"", "12", "2026-11-15T07:42:53+01:00", "a long text with (brackets)"};
    static const double numbers[] = {0, -1, 1e300, 137};
    size_t length = strlen(name);

    return (struct recorded_field){
        .name = name,
        .kind = (enum field_kind)(name[0] % 4),
        .unit = (enum unit)(name[length - 1] % 9),
        .number = numbers[length % 4],
        .text = name[0] % 4 == FIELD_JSON ? "{\"a\": [1]}" : texts[length % 4],
    };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct recorded_field fields[FILTER_NODES_MAX];
    struct recording recording = {.path = "", .start_wall = 1, .fields = fields};
    struct strbuf lines = STRBUF_INIT;
    struct filter *filter;
    size_t place = 0;
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (filter_parse(text, &filter, &place, NULL) == 0) {
        for (const char *const *name = filter_fields(filter); *name; name++)
            fields[recording.field_count++] = make_field(*name);
        int holds = filter_holds(filter, &recording, &place, NULL);
        if (holds > 1 || holds != filter_holds(filter, &recording, &place, NULL))
            abort();
        recording.field_count = 0;
        if (filter_holds(filter, &recording, &place, NULL) < 0)
            abort(); /* with no field there is nothing to object to */
        filter_free(filter);
    }
    if (place > strlen(text))
        abort();
    filter_point(&lines, text, place, 76);
    strbuf_fini(&lines);
    free(text);
    return 0;
}
