#include "store/write_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/worker.h"

struct channel {
    struct strbuf waiting;
    int code; /* of the last write that failed and was not reported yet */
    uint64_t dropped;
};

struct write_queue {
    struct write_queue_options options;
    struct worker worker;
    pthread_mutex_t lock; /* of channels */
    struct channel channels[WRITE_QUEUE_CHANNELS];
};

/* Swaps the text of the first channel that has some with the empty one. -1: none has. */
static int take(struct write_queue *queue, struct strbuf *text)
{
    int i = 0;

    (void)pthread_mutex_lock(&queue->lock);
    while (i < WRITE_QUEUE_CHANNELS && queue->channels[i].waiting.length == 0)
        i++;
    if (i < WRITE_QUEUE_CHANNELS) {
        struct strbuf empty = *text;
        *text = queue->channels[i].waiting;
        queue->channels[i].waiting = empty;
    }
    (void)pthread_mutex_unlock(&queue->lock);
    return i < WRITE_QUEUE_CHANNELS ? i : -1;
}

static void write_taken(struct write_queue *queue, int i, struct strbuf *text)
{
    int code = queue->options.write(queue->options.context, (unsigned)i, text);

    strbuf_reset(text);
    (void)pthread_mutex_lock(&queue->lock);
    if (code < 0)
        queue->channels[i].code = code;
    (void)pthread_mutex_unlock(&queue->lock);
}

static void run(void *owner)
{
    struct write_queue *queue = owner;
    struct strbuf text = STRBUF_INIT;

    if (queue->options.begin)
        queue->options.begin();
    for (;;) {
        /* Asked before the channels: what was put before the end is seen. */
        bool is_stopping = worker_is_stopping(&queue->worker);
        int i = take(queue, &text);

        if (i >= 0)
            write_taken(queue, i, &text);
        else if (is_stopping)
            break;
        else
            (void)worker_wait(&queue->worker, -1);
    }
    strbuf_fini(&text);
}

static void release(void *owner)
{
    struct write_queue *queue = owner;

    for (int i = 0; i < WRITE_QUEUE_CHANNELS; i++)
        strbuf_fini(&queue->channels[i].waiting);
    (void)pthread_mutex_destroy(&queue->lock);
    free(queue);
}

struct write_queue *write_queue_new(const struct write_queue_options *options)
{
    struct write_queue *queue = calloc(1, sizeof(*queue));
    const struct worker_options worker = {
        .name = "metron-files", .run = run, .release = release, .owner = queue};

    if (!queue)
        return NULL;
    queue->options = *options;
    if (queue->options.channel_bytes == 0)
        queue->options.channel_bytes = WRITE_QUEUE_BYTES;
    (void)pthread_mutex_init(&queue->lock, NULL);
    if (worker_start(&queue->worker, &worker) == 0)
        return queue;
    release(queue);
    return NULL;
}

static uint64_t count_lines(const struct strbuf *text)
{
    uint64_t count = 0;

    for (size_t i = 0; i < text->length; i++)
        count += text->data[i] == '\n';
    return count;
}

/* With the lock held. */
static int add(const struct write_queue *queue, struct channel *channel, const struct strbuf *text)
{
    struct strbuf *waiting = &channel->waiting;
    bool fits = waiting->length == 0 || waiting->length + text->length <= queue->options.channel_bytes;

    if (fits)
        strbuf_add(waiting, text->data, text->length);
    if (fits && !waiting->failed) {
        int code = channel->code;
        channel->code = 0;
        return code;
    }
    waiting->failed = false; /* what was there before is still whole */
    channel->dropped += count_lines(text);
    return fits ? -ENOMEM : -ENOBUFS;
}

int write_queue_put(struct write_queue *queue, unsigned channel, const struct strbuf *text, bool replace)
{
    (void)pthread_mutex_lock(&queue->lock);
    if (replace) {
        strbuf_reset(&queue->channels[channel].waiting);
        queue->channels[channel].code = 0;
    }
    int code = add(queue, &queue->channels[channel], text);
    (void)pthread_mutex_unlock(&queue->lock);
    worker_wake(&queue->worker);
    return code;
}

void write_queue_finish(struct write_queue *queue, int codes[WRITE_QUEUE_CHANNELS],
                        uint64_t dropped[WRITE_QUEUE_CHANNELS])
{
    worker_stop(&queue->worker);
    (void)worker_await(&queue->worker, -1);
    for (int i = 0; i < WRITE_QUEUE_CHANNELS; i++) {
        codes[i] = queue->channels[i].code;
        dropped[i] = queue->channels[i].dropped;
    }
    (void)worker_free(&queue->worker);
}
