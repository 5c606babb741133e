/* What people see of any answer of a daemon: its status, jobs and events. A terminal can show all of it, on
 * a screen of 80 columns and into a file. And what the daemon takes of a usage that a client reports. */
#include "check.h"

#include <math.h>

#include "base/strbuf.h"
#include "schema/job.h"
#include "view/daemon_status.h"
#include "view/event_lines.h"
#include "view/job_table.h"

#define NOW 1794781444

static void check_text(struct strbuf *text)
{
    check(!text->failed);
    check_shown(strbuf_text(text), text->length);
    strbuf_reset(text);
}

static void check_usage(const char *json, size_t size)
{
    struct job_usage usage;

    if (job_usage_parse(&(struct json_text){json, size}, &usage, NULL) < 0)
        return;
    for (unsigned i = 0; i < USAGE_COUNT; i++)
        check(usage.numbers[i] >= 0 && isfinite(usage.numbers[i]) &&
              (usage_has(&usage, i) || usage.numbers[i] == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t widths[] = {0, 80};
    const char *json = (const char *)data;
    struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        struct event_lines lines;

        job_table_write(&text, json, size, NOW, widths[i]);
        check_text(&text);
        job_page_write(&text, json, size, NOW, widths[i]);
        job_report_write(&text, json, size, NULL, NOW);
        check_text(&text);
        event_lines_begin(&lines, widths[i], NOW, &text);
        check_text(&text);
        check(event_lines_add(&lines, json, size, &text) == (text.length > 0));
        check_text(&text);
    }
    daemon_status_write(&text, json, size);
    check_text(&text);
    check_usage(json, size);
    (void)event_is_of_job(json, size, "night");
    strbuf_fini(&text);
    return 0;
}
