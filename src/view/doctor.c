#include "view/doctor.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"

void doctor_text(struct strbuf *out, const struct doctor_finding *findings, size_t count, bool colors)
{
    const char *group = "";

    for (size_t i = 0; i < count; i++) {
        const struct doctor_finding *finding = &findings[i];
        if (strcmp(finding->group, group) != 0) {
            strbuf_addf(out, "%s%s\n", i ? "\n" : "", finding->group);
            group = finding->group;
        }
        strbuf_addf(out, "  %s%-3s%s %-22s ", colors ? (finding->works ? "\033[32m" : "\033[33m") : "",
                    finding->works ? "yes" : "no", colors ? "\033[0m" : "", finding->name);
        text_printable(out, finding->detail, strlen(finding->detail));
        strbuf_addc(out, '\n');
    }
}

void doctor_json(struct strbuf *out, const struct doctor_finding *findings, size_t count)
{
    struct json json;

    json_init(&json, out, 2);
    json_array_begin(&json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(&json);
        json_key_string(&json, "group", findings[i].group);
        json_key_string(&json, "name", findings[i].name);
        json_key_boolean(&json, "works", findings[i].works);
        json_key_string(&json, "detail", findings[i].detail);
        json_object_end(&json);
    }
    json_array_end(&json);
    strbuf_addc(out, '\n');
}
