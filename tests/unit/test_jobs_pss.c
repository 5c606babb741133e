/* When the PSS of a job is read again. */
#include "daemon/jobs/pss.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "daemon/jobs/inner.h"

#define SECONDS(n) ((n)*NS_PER_SECOND)

static const struct pss_look before = {.rss_bytes = 1000000, .cpu_seconds = 1.5, .joined = 3, .exited = 1};

static void a_job_that_runs_is_read_every_ten_seconds(void **state)
{
    struct pss_look now = before;

    (void)state;
    now.cpu_seconds += 1e-6;
    assert_false(jobs_pss_is_due(SECONDS(9), &before, &now));
    assert_true(jobs_pss_is_due(SECONDS(10), &before, &now));
}

static void a_job_that_sleeps_is_read_every_ten_minutes(void **state)
{
    (void)state;
    assert_false(jobs_pss_is_due(SECONDS(599), &before, &before));
    assert_true(jobs_pss_is_due(SECONDS(600), &before, &before));
}

static void one_that_comes_or_goes_changes_what_is_shared(void **state)
{
    struct pss_look come = before, gone = before;

    (void)state;
    come.joined++;
    gone.exited++;
    assert_true(jobs_pss_is_due(SECONDS(10), &before, &come));
    assert_true(jobs_pss_is_due(SECONDS(10), &before, &gone));
}

static void a_job_that_has_grown_is_read_at_once(void **state)
{
    struct pss_look a_little = before, much = before;

    (void)state;
    a_little.rss_bytes = 1050000;
    much.rss_bytes = 1050001;
    assert_false(jobs_pss_is_due(0, &before, &a_little));
    assert_true(jobs_pss_is_due(0, &before, &much));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_runs_is_read_every_ten_seconds),
        cmocka_unit_test(a_job_that_sleeps_is_read_every_ten_minutes),
        cmocka_unit_test(one_that_comes_or_goes_changes_what_is_shared),
        cmocka_unit_test(a_job_that_has_grown_is_read_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
