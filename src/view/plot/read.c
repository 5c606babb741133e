/* The records and events of a recording, once through its files. */
#include <errno.h>
#include <string.h>

#include "store/recording/event_reader.h"
#include "store/recording/line_reader.h"
#include "store/recording/usage_reader.h"
#include "view/plot/plot.h"

static int read_events(struct plot *plot, struct metron_error *error)
{
    struct event_reader *reader = NULL;
    const struct recorded_event *event;

    if (!plot->recording->events_path)
        return 0;
    int code = event_reader_open(plot->recording, &reader, error);
    if (code == -ENOENT)
        return 0;
    while (code >= 0) {
        code = event_reader_next(reader, &event);
        if (code <= 0)
            break;
        code = plot_add_event(plot, event);
    }
    if (code < 0 && !(error && error->message[0]))
        (void)error_set(error, code, "%s: %s", plot->recording->events_path, strerror(-code));
    if (reader)
        plot->damaged_events = event_reader_damaged(reader, &plot->first_damaged_event);
    event_reader_free(reader);
    return code < 0 ? code : 0;
}

static int read_usage(struct plot *plot, struct metron_error *error)
{
    struct usage_reader *reader = NULL;
    const struct usage_record *record;
    int code = usage_reader_open(plot->recording, plot->wanted, &reader, error);

    while (code >= 0) {
        code = usage_reader_next(reader, &record);
        if (code <= 0)
            break;
        code = plot_add_record(plot, record);
    }
    if (code < 0 && !(error && error->message[0]))
        (void)error_set(error, code, "%s: %s", plot->recording->usage_path, strerror(-code));
    if (reader)
        plot->damaged_usage = usage_reader_damaged(reader, &plot->first_damaged_usage);
    usage_reader_free(reader);
    return code < 0 ? code : 0;
}

int plot_read(struct plot *plot, struct metron_error *error)
{
    int code = read_usage(plot, error);

    if (code == 0 && plot->record_count == 0 && plot->damaged_usage > 0)
        code = error_set(error, -EBADMSG,
                         "%s: %zu damaged line%s (the first is line %zu) and no whole record, so there is "
                         "nothing to draw",
                         plot->recording->usage_path, plot->damaged_usage,
                         plot->damaged_usage == 1 ? "" : "s", plot->first_damaged_usage);
    else if (code == 0 && plot->record_count == 0)
        code = error_set(error, -ENODATA, "%s: the run has no records, so there is nothing to draw",
                         plot->recording->usage_path);
    return code == 0 ? read_events(plot, error) : code;
}

bool plot_damage(const struct plot *plot, size_t index, struct metron_error *out)
{
    const struct {
        const char *path;
        size_t count, first;
    } files[] = {{plot->recording->usage_path, plot->damaged_usage, plot->first_damaged_usage},
                 {plot->recording->events_path, plot->damaged_events, plot->first_damaged_event}};

    for (size_t i = 0; i < 2; i++)
        if (files[i].count > 0 && index-- == 0)
            return line_reader_tell_damage(files[i].path, files[i].count, files[i].first, out);
    if (plot->disordered > 0 && index == 0) {
        (void)error_set(out, -EBADMSG, "%s: %zu record%s left out: the time in them goes back",
                        plot->recording->usage_path, plot->disordered, plot->disordered == 1 ? "" : "s");
        return true;
    }
    return false;
}
