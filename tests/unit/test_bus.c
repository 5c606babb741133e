/* The event bus: who hears what, what a slow subscriber loses, and callbacks that change the bus itself. */
#include "publish/bus.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct bus *bus;
static char heard[4096]; /* what `drain` took */

static int setup(void **state)
{
    (void)state;
    bus = bus_new();
    return bus ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    bus_free(bus);
    bus = NULL;
    return 0;
}

static struct bus_subscriber *subscribe(struct bus_subscription subscription)
{
    struct metron_error error = {0};
    struct bus_subscriber *subscriber;

    if (bus_subscribe(bus, &subscription, &subscriber, &error) < 0)
        fail_msg("%s", error.message);
    return subscriber;
}

static int publish(const char *event, const char *job_id, const char *text)
{
    return bus_publish(bus, event, job_id, text, strlen(text));
}

/* All that waits, as "text text -3 text": -3 where three were lost. */
static const char *drain(struct bus_subscriber *subscriber)
{
    const struct bus_message *message;
    uint64_t dropped;
    size_t length = 0;

    heard[0] = '\0';
    do {
        message = bus_take(subscriber, &dropped);
        if (dropped)
            length += (size_t)snprintf(heard + length, sizeof(heard) - length, "-%u ", (unsigned)dropped);
        if (message) {
            assert_int_equal(strlen(message->text), message->length);
            length += (size_t)snprintf(heard + length, sizeof(heard) - length, "%s ", message->text);
        }
        bus_message_release(message);
    } while (message);
    if (length > 0)
        heard[length - 1] = '\0';
    return heard;
}

static void everybody_hears_what_is_published_after_they_came(void **state)
{
    (void)state;
    assert_int_equal(publish("spawn", NULL, "1"), 0);

    struct bus_subscriber *one = subscribe((struct bus_subscription){0});

    assert_int_equal(publish("spawn", NULL, "2"), 1);

    struct bus_subscriber *other = subscribe((struct bus_subscription){0});

    assert_int_equal(publish("exit", "night", "3"), 2);
    assert_string_equal(drain(one), "2 3");
    assert_string_equal(drain(other), "3");
    assert_string_equal(drain(other), "");
    assert_int_equal(bus_subscriber_count(bus), 2);
    bus_unsubscribe(one);
    bus_unsubscribe(NULL);
    assert_int_equal(publish("exit", NULL, "4"), 1);
    assert_string_equal(drain(other), "4");
}

static void a_message_says_what_it_is(void **state)
{
    (void)state;
    struct bus_subscriber *subscriber = subscribe((struct bus_subscription){0});
    uint64_t dropped;

    assert_int_equal(bus_publish(bus, "sheet.started", "night", "{\"a\":1}and more", 7), 1);
    assert_int_equal(publish("oom", NULL, ""), 1);

    const struct bus_message *message = bus_take(subscriber, &dropped);

    assert_string_equal(message->event, "sheet.started");
    assert_string_equal(message->job_id, "night");
    assert_string_equal(message->text, "{\"a\":1}");
    bus_unsubscribe(subscriber); /* what was taken stays */
    assert_string_equal(message->text, "{\"a\":1}");
    bus_message_release(message);
    bus_message_release(NULL);
}

static void names_and_prefixes_select_events(void **state)
{
    (void)state;
    static const char *const sheets[] = {"sheet.*"}, *const two[] = {"exit", "sheet.failed"},
                             *const star[] = {"*"};
    struct bus_subscriber *of_sheets =
        subscribe((struct bus_subscription){.events = sheets, .event_count = 1});
    struct bus_subscriber *of_two = subscribe((struct bus_subscription){.events = two, .event_count = 2});
    struct bus_subscriber *of_all = subscribe((struct bus_subscription){.events = star, .event_count = 1});

    publish("sheet.started", NULL, "started");
    publish("sheet.failed", NULL, "failed");
    publish("sheet", NULL, "sheet");
    publish("sheets.x", NULL, "sheets");
    publish("exit", NULL, "exit");
    publish("exit.late", NULL, "late");
    assert_string_equal(drain(of_sheets), "started failed");
    assert_string_equal(drain(of_two), "failed exit");
    assert_string_equal(drain(of_all), "started failed sheet sheets exit late");
}

static void a_job_selects_what_is_its_own(void **state)
{
    (void)state;
    static const char *const exits[] = {"exit"};
    struct bus_subscriber *subscriber =
        subscribe((struct bus_subscription){.job_id = "night", .events = exits, .event_count = 1});

    publish("exit", "night", "mine");
    publish("exit", "nightly", "not");
    publish("exit", NULL, "nobody's");
    publish("spawn", "night", "other");
    assert_string_equal(drain(subscriber), "mine");
    assert_true(bus_is_wanted(bus, "exit", "night"));
    assert_false(bus_is_wanted(bus, "exit", NULL));
    assert_false(bus_is_wanted(bus, "spawn", "night"));
    bus_unsubscribe(subscriber);
    assert_false(bus_is_wanted(bus, "exit", "night"));
}

static int try_pattern(const char *pattern)
{
    struct bus_subscriber *subscriber;
    struct metron_error error = {0};
    int code = bus_subscribe(bus, &(struct bus_subscription){.events = &pattern, .event_count = 1},
                             &subscriber, &error);

    assert_int_equal(error.code, code);
    bus_unsubscribe(subscriber);
    return code;
}

static void what_is_no_name_is_refused(void **state)
{
    (void)state;
    char longest[BUS_PATTERN_BYTES_MAX + 2];
    const char *many[BUS_PATTERNS_MAX + 1];
    struct bus_subscriber *subscriber;

    assert_int_equal(try_pattern("sheet.*"), 0);
    assert_int_equal(try_pattern(""), -EINVAL);
    assert_int_equal(try_pattern("sheet*"), -EINVAL);
    assert_int_equal(try_pattern(".*"), -EINVAL);
    assert_int_equal(try_pattern("*.started"), -EINVAL);
    assert_int_equal(try_pattern("a.*.*"), -EINVAL);
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(try_pattern(longest), -E2BIG);
    longest[sizeof(longest) - 2] = '\0';
    assert_int_equal(try_pattern(longest), 0);
    for (size_t i = 0; i <= BUS_PATTERNS_MAX; i++)
        many[i] = "x";
    assert_int_equal(
        bus_subscribe(bus, &(struct bus_subscription){.events = many, .event_count = BUS_PATTERNS_MAX + 1},
                      &subscriber, NULL),
        -E2BIG);
    for (size_t i = 0; i < BUS_SUBSCRIBERS_MAX; i++)
        (void)subscribe((struct bus_subscription){0});
    assert_int_equal(bus_subscribe(bus, &(struct bus_subscription){0}, &subscriber, NULL), -EAGAIN);
    assert_null(subscriber);
}

static void who_is_slow_loses_the_oldest_and_is_told_how_many(void **state)
{
    (void)state;
    struct bus_subscriber *slow = subscribe((struct bus_subscription){.queue_count = 3});
    struct bus_subscriber *other = subscribe((struct bus_subscription){0});
    char text[16];

    for (int i = 1; i <= 10; i++) {
        (void)snprintf(text, sizeof(text), "%d", i);
        assert_int_equal(publish("x", NULL, text), 2);
    }
    assert_string_equal(drain(slow), "-7 8 9 10");
    assert_string_equal(drain(other), "1 2 3 4 5 6 7 8 9 10");
    publish("x", NULL, "11");
    assert_string_equal(drain(slow), "11"); /* what was told is not told again */
}

static void a_queue_is_bounded_in_bytes(void **state)
{
    (void)state;
    struct bus_subscriber *subscriber = subscribe((struct bus_subscription){.queue_bytes = 10});

    publish("x", NULL, "aaaa");
    publish("x", NULL, "bbbb");
    publish("x", NULL, "cccccc");
    assert_string_equal(drain(subscriber), "-1 bbbb cccccc");
    publish("x", NULL, "dddd");
    /* what could never fit drives nobody out */
    assert_int_equal(publish("x", NULL, "eleven long"), 0);
    assert_string_equal(drain(subscriber), "-1 dddd");
    publish("x", NULL, "ten longer");
    publish("x", NULL, "0123456789");
    assert_string_equal(drain(subscriber), "-1 0123456789");
}

static void order_and_counts_hold_over_many_rounds(void **state)
{
    (void)state;
    struct bus_subscriber *subscriber = subscribe((struct bus_subscription){.queue_count = 37});
    unsigned next = 0, taken = 0, lost = 0;

    for (unsigned round = 0; round < 500; round++) {
        for (unsigned i = 0; i < round % 71; i++) {
            char text[16];

            (void)snprintf(text, sizeof(text), "%u", next++);
            publish("x", NULL, text);
        }
        for (unsigned i = 0; i < round % 53; i++) {
            uint64_t dropped;
            const struct bus_message *message = bus_take(subscriber, &dropped);

            lost += (unsigned)dropped;
            if (!message)
                break;
            assert_int_equal(strtoul(message->text, NULL, 10), taken + lost);
            taken++;
            bus_message_release(message);
        }
    }
    (void)drain(subscriber);
    assert_true(lost > 0 && taken > 0);
}

static void two_hundred_subscribers_share_one_text(void **state)
{
    (void)state;
    static char large[500000];
    struct bus_subscriber *subscribers[200];
    const struct bus_message *taken[200];
    uint64_t dropped;

    memset(large, 'x', sizeof(large) - 1);
    for (size_t i = 0; i < 200; i++)
        subscribers[i] = subscribe((struct bus_subscription){0});
    assert_int_equal(publish("x", NULL, large), 200);
    for (size_t i = 0; i < 200; i++) {
        taken[i] = bus_take(subscribers[i], &dropped);
        assert_ptr_equal(taken[i]->text, taken[0]->text);
    }
    assert_ptr_not_equal(taken[0]->text, large);
    for (size_t i = 1; i < 200; i++)
        bus_message_release(taken[i]);
    assert_string_equal(taken[0]->text, large); /* as long as one holds it */
    bus_message_release(taken[0]);
}

/* -- The latest -- */

static void write_latest(void *context, const char *job_id, struct strbuf *text)
{
    const char *const *number = context;

    strbuf_addf(text, "%s:%s", job_id ? job_id : "all", *number);
}

static void publish_latest(const char *number)
{
    bus_publish_latest(bus, "latest", write_latest, &number);
}

static void the_latest_takes_the_place_of_the_one_before(void **state)
{
    (void)state;
    struct bus_subscriber *subscriber = subscribe((struct bus_subscription){.queue_count = 2});

    publish("x", NULL, "1");
    publish_latest("a");
    publish("x", NULL, "2");
    publish_latest("b");
    assert_string_equal(drain(subscriber), "1 all:b 2");
    publish("x", NULL, "3");
    publish_latest("c");
    publish("x", NULL, "4");
    publish("x", NULL, "5"); /* the queue is full, and loses what came before */
    assert_string_equal(drain(subscriber), "-1 all:c 4 5");
    publish_latest("d");
    assert_string_equal(drain(subscriber), "all:d");
    publish_latest("e");
    bus_unsubscribe(subscriber);
}

static void each_gets_the_latest_of_its_job(void **state)
{
    static const char *const others[] = {"sheet.*"};

    (void)state;
    struct bus_subscriber *all = subscribe((struct bus_subscription){0});
    struct bus_subscriber *night = subscribe((struct bus_subscription){.job_id = "night"});
    struct bus_subscriber *none = subscribe((struct bus_subscription){.without_latest = true});
    struct bus_subscriber *other = subscribe((struct bus_subscription){.events = others, .event_count = 1});

    publish_latest("a");
    assert_string_equal(drain(all), "all:a");
    assert_string_equal(drain(night), "night:a");
    assert_string_equal(drain(none), "");
    assert_string_equal(drain(other), "");
}

/* -- Callbacks -- */

struct listener {
    struct bus_subscriber *self, *victim, *born;
    unsigned woken;
    const char *publishes; /* once */
    bool leaves;
};

static void on_wake(void *context)
{
    struct listener *listener = context;
    const char *text = listener->publishes;

    listener->woken++;
    listener->publishes = NULL;
    if (text)
        publish("x", NULL, text);
    if (listener->victim)
        bus_unsubscribe(listener->victim);
    listener->victim = NULL;
    if (listener->leaves)
        bus_unsubscribe(listener->self);
}

static void on_wake_give_birth(void *context)
{
    struct listener *listener = context;

    listener->woken++;
    if (!listener->born)
        listener->born = subscribe((struct bus_subscription){0});
}

static struct bus_subscriber *listen(struct listener *listener)
{
    return listener->self = subscribe((struct bus_subscription){.wake = on_wake, .context = listener});
}

static void a_sleeper_is_woken_once(void **state)
{
    (void)state;
    struct listener listener = {0};

    listen(&listener);
    publish("x", NULL, "1");
    publish("x", NULL, "2");
    assert_int_equal(listener.woken, 1);
    assert_string_equal(drain(listener.self), "1 2");
    publish("x", NULL, "3");
    assert_int_equal(listener.woken, 2);
    publish_latest("a");
    assert_int_equal(listener.woken, 2);
    assert_string_equal(drain(listener.self), "3 all:a");
    publish_latest("b");
    assert_int_equal(listener.woken, 3);
}

static void one_who_lost_everything_is_woken_to_hear_of_it(void **state)
{
    (void)state;
    struct listener listener = {0};
    struct bus_subscriber *subscriber =
        subscribe((struct bus_subscription){.queue_bytes = 1, .wake = on_wake, .context = &listener});

    assert_int_equal(publish("x", NULL, "too long"), 0);
    assert_int_equal(listener.woken, 1);
    assert_string_equal(drain(subscriber), "-1");
}

static void callbacks_may_unsubscribe_anybody(void **state)
{
    (void)state;
    struct listener first = {.leaves = true}, second = {0}, third = {0}, fourth = {0};

    listen(&first);
    listen(&second);
    listen(&third);
    listen(&fourth);
    second.victim = third.self;  /* one that would be woken next */
    fourth.victim = second.self; /* one that has been */
    assert_int_equal(publish("x", NULL, "1"), 4);
    assert_int_equal(first.woken, 1);
    assert_int_equal(second.woken, 1);
    assert_int_equal(third.woken, 0);
    assert_int_equal(fourth.woken, 1);
    assert_int_equal(bus_subscriber_count(bus), 1);
    assert_int_equal(publish("x", NULL, "2"), 1);
    assert_string_equal(drain(fourth.self), "1 2");
}

static void one_who_subscribes_in_a_callback_hears_the_next(void **state)
{
    (void)state;
    struct listener parent = {0};
    struct bus_subscriber *subscriber =
        subscribe((struct bus_subscription){.wake = on_wake_give_birth, .context = &parent});

    assert_int_equal(publish("x", NULL, "1"), 1);
    assert_int_equal(publish("x", NULL, "2"), 2);
    assert_string_equal(drain(subscriber), "1 2");
    assert_string_equal(drain(parent.born), "2");
}

static void all_hear_the_same_order_even_if_a_callback_publishes(void **state)
{
    (void)state;
    struct listener first = {.publishes = "inner", .leaves = false}, second = {0};

    listen(&first);
    listen(&second);
    publish("x", NULL, "outer");
    assert_string_equal(drain(first.self), "outer inner");
    assert_string_equal(drain(second.self), "outer inner");
    assert_int_equal(second.woken, 1);
}

static void one_who_leaves_in_an_inner_callback_is_safe_in_the_outer(void **state)
{
    (void)state;
    struct listener first = {.publishes = "inner"}, second = {.leaves = true}, third = {0};

    listen(&first);
    listen(&second); /* is woken, and leaves, while the first one's callback runs */
    listen(&third);
    publish("x", NULL, "outer");
    assert_int_equal(second.woken, 1);
    assert_string_equal(drain(third.self), "outer inner");
    assert_int_equal(bus_subscriber_count(bus), 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(everybody_hears_what_is_published_after_they_came),
        TEST(a_message_says_what_it_is),
        TEST(names_and_prefixes_select_events),
        TEST(a_job_selects_what_is_its_own),
        TEST(what_is_no_name_is_refused),
        TEST(who_is_slow_loses_the_oldest_and_is_told_how_many),
        TEST(a_queue_is_bounded_in_bytes),
        TEST(order_and_counts_hold_over_many_rounds),
        TEST(two_hundred_subscribers_share_one_text),
        TEST(the_latest_takes_the_place_of_the_one_before),
        TEST(each_gets_the_latest_of_its_job),
        TEST(a_sleeper_is_woken_once),
        TEST(one_who_lost_everything_is_woken_to_hear_of_it),
        TEST(callbacks_may_unsubscribe_anybody),
        TEST(one_who_subscribes_in_a_callback_hears_the_next),
        TEST(all_hear_the_same_order_even_if_a_callback_publishes),
        TEST(one_who_leaves_in_an_inner_callback_is_safe_in_the_outer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
