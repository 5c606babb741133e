/*
 * A run whose files are an input of the fuzzer: info.json, usage.jsonl and events.jsonl, one behind the
 * other, with the byte 1E (which JSON does not have) between them. What is missing at the end is a file that
 * is not there.
 *
 * The readers open files, so that both are in memory, under a name of /proc.
 */
#ifndef METRON_FUZZ_MADE_RUN_H
#define METRON_FUZZ_MADE_RUN_H

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json_reader.h"
#include "check.h"
#include "store/recording/reader.h"

struct made_run {
    struct recording recording;
    int fds[2];
    char paths[2][32];
};

static inline bool made_run_lives(void *context, const struct recorder *recorder)
{
    (void)context;
    return recorder->start_ticks % 2 == 0;
}

/* False: there is no recording in the input. */
static inline bool made_run_open(struct made_run *run, const uint8_t *data, size_t size)
{
    const struct recording_wish wish = {.keys = true, .parts = true, .lives = made_run_lives, .now = 2e9};
    const char *begin = (const char *)data, *end = begin + size, *part = begin;
    const char *stop = size > 0 ? memchr(begin, 0x1E, size) : NULL;

    *run = (struct made_run){.fds = {-1, -1}};
    if (recording_parse(begin, (size_t)((stop ? stop : end) - begin), "/nowhere/info.json", &wish,
                        &run->recording, NULL) < 0)
        return false;
    for (int i = 0; i < 2 && stop; i++) {
        part = stop + 1;
        stop = part < end ? memchr(part, 0x1E, (size_t)(end - part)) : NULL;
        run->fds[i] = memfd_create("fuzz", MFD_CLOEXEC);
        check(run->fds[i] >= 0);
        check(file_write_all(run->fds[i], part, (size_t)((stop ? stop : end) - part)) == 0);
        (void)snprintf(run->paths[i], sizeof(run->paths[i]), "/proc/self/fd/%d", run->fds[i]);
    }
    run->recording.usage_path = run->fds[0] >= 0 ? run->paths[0] : NULL;
    run->recording.events_path = run->fds[1] >= 0 ? run->paths[1] : NULL;
    return true;
}

static inline void made_run_close(struct made_run *run)
{
    for (int i = 0; i < 2; i++)
        if (run->fds[i] >= 0)
            (void)close(run->fds[i]);
    recording_fini(&run->recording);
}

static inline void check_json(const char *bytes, size_t length)
{
    struct json_reader reader;

    json_reader_init(&reader, bytes, length);
    check(json_skip(&reader) && json_reader_end(&reader, NULL) == 0);
    json_reader_fini(&reader);
}

#endif
