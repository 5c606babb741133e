/*
 * The reading side of a BPF ring buffer, on a file laid out as the kernel lays out its own. The kernel maps
 * the data twice; a file cannot, so what is written here is written twice.
 */
#include "probe/bpf/ring.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/bpf.h>

#include <cmocka.h>

#define RING_SIZE ((size_t)4096)

static struct {
    int fd;
    size_t page;
    char *file; /* as the kernel sees it */
    struct bpf_ring ring;
    char seen[512]; /* the texts of the records visited, each followed by a semicolon */
    size_t last_length;
    unsigned long consumed_at_visit;
} test;

static int setup(void **state)
{
    (void)state;
    memset(&test, 0, sizeof(test));
    test.page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t size = 2 * test.page + 2 * RING_SIZE;
    test.fd = memfd_create("ring", MFD_CLOEXEC);
    if (test.fd < 0 || ftruncate(test.fd, (off_t)size) != 0)
        return -1;
    test.file = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, test.fd, 0);
    return test.file == MAP_FAILED ? -1 : bpf_ring_open(&test.ring, test.fd, RING_SIZE);
}

static int teardown(void **state)
{
    (void)state;
    bpf_ring_close(&test.ring);
    (void)munmap(test.file, 2 * test.page + 2 * RING_SIZE);
    return close(test.fd);
}

static unsigned long *consumed(void)
{
    return (unsigned long *)(void *)test.file;
}

static unsigned long *produced(void)
{
    return (unsigned long *)(void *)(test.file + test.page);
}

static void put(unsigned long position, const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char *place = test.file + 2 * test.page + (position + i) % RING_SIZE;

        place[0] = place[RING_SIZE] = ((const char *)bytes)[i];
    }
}

/* Writes a record at the end; returns where. */
static unsigned long record_add(const char *text, size_t length, uint32_t flags)
{
    const unsigned long position = *produced();
    const uint32_t header[2] = {(uint32_t)length | flags, 0};

    put(position, header, sizeof(header));
    put(position + BPF_RINGBUF_HDR_SZ, text, length);
    *produced() = position + (length + BPF_RINGBUF_HDR_SZ + 7) / 8 * 8;
    return position;
}

static void text_add(const char *text, uint32_t flags)
{
    (void)record_add(text, strlen(text) + 1, flags);
}

static void visit(void *context, const void *record, size_t length)
{
    size_t used = strlen(test.seen);

    assert_ptr_equal(context, &test);
    test.last_length = length;
    test.consumed_at_visit = *consumed();
    (void)snprintf(test.seen + used, sizeof(test.seen) - used, "%.60s;", (const char *)record);
}

static void visit_and_add(void *context, const void *record, size_t length)
{
    visit(context, record, length);
    if (strlen(test.seen) < sizeof(test.seen) / 2)
        text_add("more", 0);
}

static size_t read_ring(void)
{
    return bpf_ring_read(&test.ring, visit, &test);
}

static void empty_ring_has_no_record(void **state)
{
    (void)state;
    assert_int_equal(read_ring(), 0);
    assert_string_equal(test.seen, "");
}

static void what_comes_while_it_is_read_is_left_for_the_next_time(void **state)
{
    (void)state;
    text_add("one", 0);
    text_add("two", 0);
    assert_int_equal(bpf_ring_read(&test.ring, visit_and_add, &test), 2);
    assert_string_equal(test.seen, "one;two;");
    assert_int_equal(read_ring(), 2);
    assert_string_equal(test.seen, "one;two;more;more;");
}

static void records_come_in_their_order_and_once(void **state)
{
    (void)state;
    text_add("one", 0);
    text_add("and two", 0);
    text_add("three with some more", 0);
    assert_int_equal(read_ring(), 3);
    assert_string_equal(test.seen, "one;and two;three with some more;");
    assert_int_equal(test.last_length, sizeof("three with some more"));
    assert_int_equal(read_ring(), 0);
    text_add("four", 0);
    assert_int_equal(read_ring(), 1);
    assert_string_equal(test.seen, "one;and two;three with some more;four;");
}

static void room_is_freed_after_the_visit_and_not_before(void **state)
{
    (void)state;
    text_add("one", 0);
    text_add("two", 0);
    assert_int_equal(read_ring(), 2);
    assert_int_equal(test.consumed_at_visit, 16);
    assert_int_equal(*consumed(), *produced());
}

static void discarded_record_is_passed_over(void **state)
{
    (void)state;
    text_add("one", 0);
    text_add("given up", BPF_RINGBUF_DISCARD_BIT);
    text_add("three", 0);
    assert_int_equal(read_ring(), 2);
    assert_string_equal(test.seen, "one;three;");
    assert_int_equal(*consumed(), *produced());
}

static void record_being_written_is_waited_for(void **state)
{
    (void)state;
    text_add("one", 0);
    const unsigned long position = record_add("two", 4, BPF_RINGBUF_BUSY_BIT);
    const uint32_t done = 4;

    text_add("three", 0);
    assert_int_equal(read_ring(), 1);
    assert_int_equal(*consumed(), position);
    assert_int_equal(read_ring(), 0);
    put(position, &done, sizeof(done));
    assert_int_equal(read_ring(), 2);
    assert_string_equal(test.seen, "one;two;three;");
}

static void record_across_the_end_is_whole(void **state)
{
    (void)state;
    /* 24 bytes before the end: a header and the beginning of the text fit. */
    *consumed() = *produced() = RING_SIZE - 24;
    text_add("written across the end of the ring", 0);
    text_add("behind it", 0);
    assert_int_equal(read_ring(), 2);
    assert_string_equal(test.seen, "written across the end of the ring;behind it;");
    assert_true(*consumed() > RING_SIZE);
}

static void positions_far_beyond_the_size_are_right(void **state)
{
    (void)state;
    unsigned long rounds = 0;

    *consumed() = *produced() = 1UL << 40;
    for (; rounds < 1000; rounds++) {
        char text[40];

        (void)snprintf(text, sizeof(text), "%0*lu", (int)(rounds % 31 + 1), rounds);
        text_add(text, 0);
        test.seen[0] = '\0';
        assert_int_equal(read_ring(), 1);
        assert_memory_equal(test.seen, text, strlen(text));
        assert_int_equal(test.last_length, strlen(text) + 1);
    }
}

static void full_ring_is_read_to_its_end(void **state)
{
    (void)state;
    *consumed() = *produced() = RING_SIZE / 2;
    for (size_t i = 0; i < RING_SIZE / 16; i++)
        text_add("x", 0);
    assert_int_equal(*produced() - *consumed(), RING_SIZE);
    assert_int_equal(read_ring(), RING_SIZE / 16);
    assert_int_equal(*consumed(), *produced());
}

static void record_without_bytes_is_one(void **state)
{
    (void)state;
    (void)record_add("", 0, 0);
    text_add("two", 0);
    assert_int_equal(read_ring(), 2);
    assert_int_equal(test.last_length, 4);
}

static void what_is_no_ring_cannot_be_opened(void **state)
{
    (void)state;
    struct bpf_ring ring;
    int pipes[2];

    assert_int_equal(pipe(pipes), 0);
    assert_true(bpf_ring_open(&ring, pipes[0], RING_SIZE) < 0);
    bpf_ring_close(&ring);
    assert_int_equal(bpf_ring_open(&ring, -1, RING_SIZE), -EBADF);
    bpf_ring_close(&ring);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(empty_ring_has_no_record, setup, teardown),
        cmocka_unit_test_setup_teardown(what_comes_while_it_is_read_is_left_for_the_next_time, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(records_come_in_their_order_and_once, setup, teardown),
        cmocka_unit_test_setup_teardown(room_is_freed_after_the_visit_and_not_before, setup, teardown),
        cmocka_unit_test_setup_teardown(discarded_record_is_passed_over, setup, teardown),
        cmocka_unit_test_setup_teardown(record_being_written_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(record_across_the_end_is_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(positions_far_beyond_the_size_are_right, setup, teardown),
        cmocka_unit_test_setup_teardown(full_ring_is_read_to_its_end, setup, teardown),
        cmocka_unit_test_setup_teardown(record_without_bytes_is_one, setup, teardown),
        cmocka_unit_test(what_is_no_ring_cannot_be_opened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
