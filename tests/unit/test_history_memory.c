/* What a storm of processes took is given back: counted in bytes that the allocator has handed out. (That of
 * the sanitizers counts nothing: this is for the plain build.) */
#include <malloc.h>

#include "history_fixture.h"

#define STORM 20000
/* SQLite keeps up to 4 MiB of pages, each a little larger than in the file. */
#define ALLOWED_BYTES ((size_t)6 * 1024 * 1024)

static size_t bytes_in_use(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* Two snapshots in a minute of their own, and the upkeep. */
static void live_a_minute(unsigned minute, size_t processes)
{
    for (unsigned i = 0; i < 2; i++)
        put(make(processes, minute * 12 + i));
    while (history_maintain(history, wall_base + minute * 60.0 + 10, 1, NULL) == 1)
        continue;
}

static void minute_with_a_storm_leaves_little_behind(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        live_a_minute(i, 50);
    size_t before = bytes_in_use();
    live_a_minute(3, STORM);
    for (unsigned i = 4; i < 8; i++)
        live_a_minute(i, 50);
    assert_true(ask("SELECT max(child_count_max) FROM snapshots_1m") == STORM);
    assert_true(ask("SELECT count(*) FROM process_metrics_1m") > STORM);
    snapshot_pool_free(pool); /* it has some of that size for the next one */
    pool = snapshot_pool_new();
    size_t after = bytes_in_use();
    print_message("%zu KiB, after the storm %zu KiB\n", before / 1024, after / 1024);
    assert_true(after < before + ALLOWED_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {HISTORY_TEST(minute_with_a_storm_leaves_little_behind)};

    return cmocka_run_group_tests_name("history_memory", tests, NULL, NULL);
}
