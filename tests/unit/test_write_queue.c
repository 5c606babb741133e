/* The thread that writes files for a loop: nothing is lost, nothing waits for it, and what goes wrong is
 * reported. */
#include "store/write_queue.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A disk of which the test decides when a write ends, and how. */
static struct disk {
    struct strbuf files[WRITE_QUEUE_CHANNELS];
    struct strbuf order; /* which channel each write was for */
    sem_t begun, may_end;
    bool hangs;
    int code;
    pthread_t writer;
} disk;
static struct write_queue *queue;
static int codes[WRITE_QUEUE_CHANNELS];
static uint64_t dropped[WRITE_QUEUE_CHANNELS];

static int write_to_disk(void *context, unsigned channel, const struct strbuf *text)
{
    (void)context;
    if (disk.hangs) {
        (void)sem_post(&disk.begun);
        while (sem_wait(&disk.may_end) != 0)
            ;
    }
    strbuf_addc(&disk.order, (char)('0' + channel));
    strbuf_add(&disk.files[channel], text->data, text->length);
    return disk.code;
}

static void note_thread(void)
{
    disk.writer = pthread_self();
}

static void open_queue(size_t bytes)
{
    const struct write_queue_options options = {
        .write = write_to_disk, .begin = note_thread, .channel_bytes = bytes};

    queue = write_queue_new(&options);
    assert_non_null(queue);
}

static int setup(void **state)
{
    (void)state;
    disk = (struct disk){0};
    return sem_init(&disk.begun, 0, 0) + sem_init(&disk.may_end, 0, 0);
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < WRITE_QUEUE_CHANNELS; i++)
        strbuf_fini(&disk.files[i]);
    strbuf_fini(&disk.order);
    return sem_destroy(&disk.begun) + sem_destroy(&disk.may_end);
}

static int put(unsigned channel, const char *text, bool replace)
{
    struct strbuf copy = STRBUF_INIT;

    strbuf_adds(&copy, text);
    int code = write_queue_put(queue, channel, &copy, replace);
    strbuf_fini(&copy);
    return code;
}

/* No write ends from here on before disk_goes_on. */
static void disk_hangs(void)
{
    disk.hangs = true;
}

static void await_write(void)
{
    while (sem_wait(&disk.begun) != 0)
        ;
}

static void disk_goes_on(void)
{
    for (int i = 0; i < 100; i++)
        (void)sem_post(&disk.may_end);
}

static void finish(void)
{
    write_queue_finish(queue, codes, dropped);
    queue = NULL;
}

static void everything_is_written_in_order_before_it_ends(void **state)
{
    (void)state;
    struct strbuf expected = STRBUF_INIT;
    char line[32];

    open_queue(0);
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(line, sizeof(line), "%d\n", i);
        strbuf_adds(&expected, line);
        assert_int_equal(put(1, line, false), 0);
        assert_int_equal(put(2, line, false), 0);
    }
    finish();
    assert_string_equal(strbuf_text(&disk.files[1]), strbuf_text(&expected));
    assert_string_equal(strbuf_text(&disk.files[2]), strbuf_text(&expected));
    assert_false(pthread_equal(disk.writer, pthread_self()));
    assert_int_equal(codes[1], 0);
    assert_int_equal(dropped[1], 0);
    strbuf_fini(&expected);
}

static void a_disk_that_hangs_is_not_waited_for(void **state)
{
    (void)state;
    open_queue(20);
    disk_hangs();
    assert_int_equal(put(1, "being written\n", false), 0);
    await_write();
    assert_int_equal(put(1, "it takes ten\n", false), 0);
    assert_int_equal(put(1, "a\nb\n", false), 0);
    assert_int_equal(put(1, "too many\nbytes\n", false), -ENOBUFS);
    assert_int_equal(put(1, "c\n", false), 0);
    assert_int_equal(put(2, "larger than a channel, but alone in it\n", false), 0);
    disk_goes_on();
    finish();
    assert_string_equal(strbuf_text(&disk.files[1]), "being written\nit takes ten\na\nb\nc\n");
    assert_string_equal(strbuf_text(&disk.files[2]), "larger than a channel, but alone in it\n");
    assert_int_equal(dropped[1], 2);
    assert_int_equal(dropped[2], 0);
}

static void of_a_file_that_is_replaced_only_the_newest_is_written(void **state)
{
    (void)state;
    open_queue(8);
    disk_hangs();
    assert_int_equal(put(1, "other\n", false), 0);
    await_write();
    assert_int_equal(put(4, "first version\n", true), 0);
    assert_int_equal(put(4, "second version\n", true), 0);
    assert_int_equal(put(1, "more\n", false), 0);
    disk_goes_on();
    finish();
    assert_string_equal(strbuf_text(&disk.files[4]), "second version\n");
    assert_string_equal(strbuf_text(&disk.order), "114"); /* in the order of their numbers */
}

static void a_failure_is_reported_once_for_its_own_file(void **state)
{
    (void)state;
    open_queue(0);
    disk_hangs();
    disk.code = -ENOSPC;
    assert_int_equal(put(1, "x\n", false), 0);
    await_write();
    assert_int_equal(put(2, "y\n", false), 0);
    (void)sem_post(&disk.may_end);
    await_write(); /* the second: the first has failed */
    assert_int_equal(put(1, "z\n", false), -ENOSPC);
    assert_int_equal(put(1, "z\n", false), 0);
    assert_int_equal(put(2, "z\n", false), 0);
    disk_goes_on();
    finish();
    assert_int_equal(codes[1], -ENOSPC); /* of what came later */
    assert_int_equal(codes[2], -ENOSPC);
    assert_int_equal(codes[3], 0);
}

static void the_failure_of_a_version_that_was_replaced_is_not_reported(void **state)
{
    (void)state;
    open_queue(0);
    disk_hangs();
    disk.code = -ENOSPC;
    assert_int_equal(put(1, "first version\n", true), 0);
    await_write();
    assert_int_equal(put(2, "y\n", false), 0);
    (void)sem_post(&disk.may_end);
    await_write(); /* the second: the first has failed */
    assert_int_equal(put(1, "second version\n", true), 0);
    disk.code = 0;
    disk_goes_on();
    finish();
    assert_int_equal(codes[1], 0);
}

#define WITH_DISK(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DISK(everything_is_written_in_order_before_it_ends),
        WITH_DISK(a_disk_that_hangs_is_not_waited_for),
        WITH_DISK(of_a_file_that_is_replaced_only_the_newest_is_written),
        WITH_DISK(a_failure_is_reported_once_for_its_own_file),
        WITH_DISK(the_failure_of_a_version_that_was_replaced_is_not_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
