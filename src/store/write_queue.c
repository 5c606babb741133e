#include "store/write_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/thread.h"

struct channel {
    struct strbuf waiting;
    int code; /* of the last write that failed and was not reported yet */
    uint64_t dropped;
};

struct write_queue {
    struct write_queue_options options;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct channel channels[WRITE_QUEUE_CHANNELS];
    bool finishing;
};

/* With the lock held: the first channel that has text; -1 if none has. */
static int next_channel(const struct write_queue *queue)
{
    for (int i = 0; i < WRITE_QUEUE_CHANNELS; i++)
        if (queue->channels[i].waiting.length > 0)
            return i;
    return -1;
}

static void *run_thread(void *context)
{
    struct write_queue *queue = context;
    struct strbuf text = STRBUF_INIT;

    if (queue->options.begin)
        queue->options.begin();
    (void)pthread_mutex_lock(&queue->lock);
    for (;;) {
        int i = next_channel(queue);
        if (i < 0 && queue->finishing)
            break;
        if (i < 0) {
            (void)pthread_cond_wait(&queue->changed, &queue->lock);
            continue;
        }
        struct channel *channel = &queue->channels[i];
        struct strbuf empty = text;
        text = channel->waiting;
        channel->waiting = empty;
        (void)pthread_mutex_unlock(&queue->lock);
        int code = queue->options.write(queue->options.context, (unsigned)i, &text);
        strbuf_reset(&text);
        (void)pthread_mutex_lock(&queue->lock);
        if (code < 0)
            channel->code = code;
    }
    (void)pthread_mutex_unlock(&queue->lock);
    strbuf_fini(&text);
    return NULL;
}

struct write_queue *write_queue_new(const struct write_queue_options *options)
{
    struct write_queue *queue = calloc(1, sizeof(*queue));

    if (!queue)
        return NULL;
    queue->options = *options;
    if (queue->options.channel_bytes == 0)
        queue->options.channel_bytes = WRITE_QUEUE_BYTES;
    (void)pthread_mutex_init(&queue->lock, NULL);
    (void)pthread_cond_init(&queue->changed, NULL);
    if (thread_start(&queue->thread, "metron-files", run_thread, queue) == 0)
        return queue;
    (void)pthread_cond_destroy(&queue->changed);
    (void)pthread_mutex_destroy(&queue->lock);
    free(queue);
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
    (void)pthread_cond_signal(&queue->changed);
    (void)pthread_mutex_unlock(&queue->lock);
    return code;
}

void write_queue_finish(struct write_queue *queue, int codes[WRITE_QUEUE_CHANNELS],
                        uint64_t dropped[WRITE_QUEUE_CHANNELS])
{
    (void)pthread_mutex_lock(&queue->lock);
    queue->finishing = true;
    (void)pthread_cond_signal(&queue->changed);
    (void)pthread_mutex_unlock(&queue->lock);
    (void)pthread_join(queue->thread, NULL);
    for (int i = 0; i < WRITE_QUEUE_CHANNELS; i++) {
        codes[i] = queue->channels[i].code;
        dropped[i] = queue->channels[i].dropped;
        strbuf_fini(&queue->channels[i].waiting);
    }
    (void)pthread_cond_destroy(&queue->changed);
    (void)pthread_mutex_destroy(&queue->lock);
    free(queue);
}
