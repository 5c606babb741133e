/* A run of any bytes as people see it in words: report, summary, and a row of ls in every format. */
#include "made_run.h"
#include "view/list/columns.h"
#include "view/list/listing.h"
#include "view/list/table.h"
#include "view/list/text.h"
#include "view/report/report.h"
#include "view/run_summary.h"

static void check_report(const struct recording *recording, size_t width)
{
    struct report_evidence evidence = {0};
    struct report_page page = {0};
    struct strbuf text = STRBUF_INIT, json = STRBUF_INIT;
    struct metron_error error = {0};

    if (report_evidence_read(&evidence, recording, &error) == 0) {
        check(run_report_page(&evidence, &page) == 0);
        report_page_text(&text, &page, width, false);
        check_shown(strbuf_text(&text), text.length);
        report_page_json(&json, &page);
        check_json(strbuf_text(&json), json.length);
        check_shown(strbuf_text(&json), json.length);
    } else {
        check(error.message[0] != '\0');
    }
    report_page_fini(&page);
    report_evidence_fini(&evidence);
    strbuf_fini(&text);
    strbuf_fini(&json);
}

static void check_summary(const struct recording *recording, size_t width)
{
    struct run_summary summary;
    struct strbuf text = STRBUF_INIT;

    run_summary_of_recording(&summary, recording);
    run_summary_write(&text, &summary, width, false);
    check_shown(strbuf_text(&text), text.length);
    strbuf_fini(&text);
}

static void check_listing(const struct recording *recording, bool table, size_t width)
{
    struct run_listing listing;
    struct strbuf text = STRBUF_INIT;

    run_listing_init(&listing);
    check(run_columns_add_usual(&listing, table) == 0);
    check(run_columns_add_named(&listing, "arguments", false, table, false) == 0);
    check(run_listing_add(&listing, recording, NULL) == 0);
    if (table) {
        run_table_write(&text, &listing, width, false);
        check_shown(strbuf_text(&text), text.length);
    } else {
        run_list_json(&text, &listing);
        check_json(strbuf_text(&text), text.length);
        run_list_yaml(&text, &listing);
        run_list_jsonl(&text, &listing);
        check_shown(strbuf_text(&text), text.length);
        run_list_csv(&text, &listing);
    }
    strbuf_fini(&text);
    run_listing_fini(&listing);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct made_run run;
    const size_t width = size % 2 ? 0 : 40 + size % 100;

    if (!made_run_open(&run, data, size))
        return 0;
    check_report(&run.recording, width);
    check_summary(&run.recording, width);
    check_listing(&run.recording, true, width);
    check_listing(&run.recording, false, 0);
    made_run_close(&run);
    return 0;
}
