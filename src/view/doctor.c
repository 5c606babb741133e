#include "view/doctor.h"

#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "view/colors.h"

static const char *const verdict_text[] = {[DOCTOR_FACT] = "", [DOCTOR_WORKS] = "yes", [DOCTOR_FAILS] = "no"};
static const char *const verdict_color[] = {
    [DOCTOR_FACT] = "", [DOCTOR_WORKS] = COLOR_GREEN, [DOCTOR_FAILS] = COLOR_YELLOW};

/* More about what the finding before was about. */
static bool is_same(const struct doctor_finding *finding, const struct doctor_finding *before)
{
    return before && strcmp(finding->group, before->group) == 0 && strcmp(finding->name, before->name) == 0;
}

void doctor_text(struct strbuf *out, const struct doctor_finding *findings, size_t count, bool colors)
{
    const char *group = "";
    const struct doctor_finding *before = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct doctor_finding *finding = &findings[i];
        if (strcmp(finding->group, group) != 0) {
            strbuf_addf(out, "%s%s\n", i ? "\n" : "", finding->group);
            group = finding->group;
        }
        strbuf_addf(out, "  %s%-3s%s %-22s ", colors ? verdict_color[finding->verdict] : "",
                    verdict_text[finding->verdict], colors ? COLOR_END : "",
                    finding->verdict == DOCTOR_FAILS && is_same(finding, before) ? "  but not"
                                                                                 : finding->name);
        before = finding;
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
        if (findings[i].verdict != DOCTOR_FACT)
            json_key_boolean(&json, "works", findings[i].verdict == DOCTOR_WORKS);
        json_key_string(&json, "detail", findings[i].detail);
        json_object_end(&json);
    }
    json_array_end(&json);
    strbuf_addc(out, '\n');
}
