/*
 * The feed: lines are made in the queue itself and sent at once. What the socket does not take stays in the
 * queue until the next line or the next sample.
 */
#include "loop/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "base/json.h"

/* The record of a large tree has some hundred kilobytes. */
#define QUEUE_MAX ((size_t)32 << 20)

struct feed {
    int fd;
    pthread_mutex_t lock; /* of all below */
    struct strbuf queue;
    size_t sent; /* of the queue */
    uint64_t dropped;
    bool gone; /* nobody listens any more */
};

static struct feed own = {.fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER};

/* With the lock held. */
static void send_queue(struct feed *feed)
{
    while (!feed->gone && feed->sent < feed->queue.length) {
        ssize_t count = send(feed->fd, feed->queue.data + feed->sent, feed->queue.length - feed->sent,
                             MSG_DONTWAIT | MSG_NOSIGNAL);

        if (count >= 0)
            feed->sent += (size_t)count;
        else if (errno == EAGAIN)
            return;
        else if (errno != EINTR)
            feed->gone = true;
    }
    strbuf_reset(&feed->queue);
    feed->sent = 0;
}

/* Begins a line {"name": and takes the lock; false: there is not to be one. */
static bool begin_line(struct feed *feed, struct json *json, const char *name)
{
    if (!feed)
        return false;
    (void)pthread_mutex_lock(&feed->lock);
    if (feed->gone || feed->queue.length - feed->sent > QUEUE_MAX) {
        feed->dropped++;
        send_queue(feed);
        (void)pthread_mutex_unlock(&feed->lock);
        return false;
    }
    if (feed->sent > 0) {
        memmove(feed->queue.data, feed->queue.data + feed->sent, feed->queue.length - feed->sent + 1);
        feed->queue.length -= feed->sent;
        feed->sent = 0;
    }
    json_init(json, &feed->queue, 0);
    json_object_begin(json);
    json_key(json, name);
    return true;
}

static void end_line(struct feed *feed, struct json *json)
{
    json_object_end(json);
    strbuf_addc(&feed->queue, '\n');
    /* Half a line cannot be taken back, and whoever reads it would not understand the rest. */
    if (feed->queue.failed)
        feed->gone = true;
    send_queue(feed);
    (void)pthread_mutex_unlock(&feed->lock);
}

/* For the log; `context` is a feed. */
static void tell_log(void *context, enum log_level level, const char *message)
{
    static const char *const words[] = {"none", "error", "warning", "info", "debug"};
    struct feed *feed = context;
    struct json json;

    if (!begin_line(feed, &json, "log"))
        return;
    json_object_begin(&json);
    json_key_string(&json, "level", words[level]);
    json_key_string(&json, "message", message);
    json_object_end(&json);
    end_line(feed, &json);
}

int feed_open(int fd, struct metron_error *error)
{
    int kind;
    socklen_t size = sizeof(kind);

    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &size) < 0 || kind != SOCK_STREAM)
        return error_set(error, -EINVAL, "--feed: descriptor %d is no stream socket", fd);
    own.fd = fd;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    log_set_sink(tell_log, &own);
    return 0;
}

struct feed *feed_current(void)
{
    return own.fd < 0 ? NULL : &own;
}

int feed_fd(const struct feed *feed)
{
    return feed->fd;
}

void feed_flush(struct feed *feed)
{
    if (!feed)
        return;
    (void)pthread_mutex_lock(&feed->lock);
    send_queue(feed);
    (void)pthread_mutex_unlock(&feed->lock);
}

void feed_started(struct feed *feed, pid_t pid)
{
    struct json json;

    if (!begin_line(feed, &json, "started"))
        return;
    json_object_begin(&json);
    json_key_integer(&json, "pid", pid);
    json_object_end(&json);
    end_line(feed, &json);
}

size_t feed_record(struct feed *feed, const struct record *record)
{
    struct json json;

    if (!begin_line(feed, &json, "record"))
        return 0;
    size_t before = json.out->length;
    record_json(&json, record);
    size_t bytes = json.out->length - before;
    end_line(feed, &json);
    return bytes;
}

void feed_event(struct feed *feed, const struct event *event)
{
    struct json json;

    if (!begin_line(feed, &json, "event"))
        return;
    event_json(&json, event);
    end_line(feed, &json);
}

/* Waits until nothing is left. */
static void drain(struct feed *feed)
{
    for (;;) {
        struct pollfd polled = {.fd = feed->fd, .events = POLLOUT};

        (void)pthread_mutex_lock(&feed->lock);
        send_queue(feed);
        bool empty = feed->queue.length == 0;
        (void)pthread_mutex_unlock(&feed->lock);
        if (empty)
            return;
        (void)poll(&polled, 1, -1);
    }
}

void feed_end(struct feed *feed, const struct run_info *info, bool discarded)
{
    struct json json;

    if (!feed)
        return;
    drain(feed); /* so that this line is not the one that is dropped */
    if (!begin_line(feed, &json, "end"))
        return;
    json_object_begin(&json);
    json_key_integer(&json, "dropped", (int64_t)feed->dropped);
    json_key_boolean(&json, "discarded", discarded);
    json_key(&json, "info");
    run_info_json(&json, info);
    json_object_end(&json);
    end_line(feed, &json);
    drain(feed);
}

void feed_fail(struct feed *feed, const struct metron_error *error)
{
    struct json json;

    if (!feed)
        return;
    drain(feed);
    if (!begin_line(feed, &json, "error"))
        return;
    json_object_begin(&json);
    json_key_integer(&json, "code", error->code);
    json_key_string(&json, "message", error->message);
    json_object_end(&json);
    end_line(feed, &json);
    drain(feed);
}
