#include "cmd/removal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/units.h"
#include "cmd/commands.h"
#include "cmd/recorder.h"
#include "store/recording/reader.h"
#include "store/run_files.h"
#include "store/run_removal.h"

struct removal_run {
    char *path; /* of the info.json; owned */
    uint64_t id;
    bool may_run; /* nothing says whether it does */
    struct run_removal all;
};

int removal_read(const char *path, struct recording *out, struct metron_error *error)
{
    static const char *const fields[] = {
        "exit_code",        "wall", "outcome.kind", "outcome.time_limit.source", "outcome.oom_victim",
        "cgroup_oom_kills", NULL};
    const struct recording_wish wish = {.fields = fields, .lives = recorder_is_alive};

    return recording_read(path, &wish, out, error);
}

/* Of one without an info.json only its records say so. */
static int refuse_one_that_runs(const struct recording *recording, const char *how,
                                struct metron_error *error)
{
    if (recording->status == RECORDING_RUNNING)
        return error_set(error, -EBUSY, "%s %s; it is not removed", recording->path, how);
    if (recording->status == RECORDING_UNKNOWN &&
        recorder_wrote_lately(recording->usage_path, recording->start_wall))
        return error_set(
            error, -EBUSY,
            "%s is not there, or empty, and its newest record is of the last minutes: this run may "
            "still be under way; it is not removed",
            recording->path);
    return 0;
}

void removal_add(struct removal *removal, const struct recording *recording)
{
    struct metron_error error = {0};
    struct removal_run run = {.id = recording->id, .may_run = recording->status == RECORDING_UNKNOWN};

    int code = run_removal_survey(recording->path, &run.all, &error);
    for (size_t i = 0; code == 0 && i < removal->count; i++)
        if (removal->runs[i].all.device == run.all.device && removal->runs[i].all.inode == run.all.inode)
            return;
    if (code == 0)
        code = refuse_one_that_runs(recording, "still runs", &error);
    if (code == 0) {
        run.path = strdup(recording->path);
        if (!run.path || ARRAY_RESERVE(removal->runs, removal->capacity, removal->count + 1) < 0) {
            free(run.path);
            code = error_set(&error, -ENOMEM, "no memory for the list of runs");
        }
    }
    if (code == 0) {
        removal->runs[removal->count++] = run;
        return;
    }
    log_error("%s", error.message);
    removal->trouble = true;
}

static void add_amount(struct strbuf *out, const struct run_removal *amount)
{
    char bytes[UNIT_TEXT_SIZE];

    strbuf_addf(out, "%zu file%s, %s", amount->files, amount->files == 1 ? "" : "s",
                unit_human(UNIT_BYTES, (double)amount->bytes, bytes));
}

/* "removed  3fa9c21b04  .metron/logs/2026…_  (5 files, 1.2 MiB)" */
static void add_line(struct strbuf *out, const char *what, const struct removal_run *run,
                     const struct run_removal *amount)
{
    struct strbuf quoted = STRBUF_INIT, prefix = STRBUF_INIT;
    char id[RECORDING_ID_SIZE];
    const size_t length = (size_t)run_prefix_length(run->path);

    strbuf_add(&prefix, run->path, length ? length : strlen(run->path));
    text_shell_quote(&quoted, strbuf_text(&prefix));
    strbuf_addf(out, "%s %s  ", what, recording_id_text(run->id, id));
    text_printable(out, strbuf_text(&quoted), quoted.length);
    strbuf_adds(out, "  (");
    add_amount(out, amount);
    strbuf_adds(out, ")\n");
    strbuf_fini_part(&prefix, out);
    strbuf_fini_part(&quoted, out);
}

static int print(struct strbuf *text)
{
    int code = text->failed ? EXIT_TROUBLE : command_print(strbuf_text(text), text->length);

    strbuf_fini(text);
    return code;
}

static int show(const struct removal *removal)
{
    struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < removal->count; i++)
        add_line(&text, "would remove", &removal->runs[i], &removal->runs[i].all);
    for (size_t i = 0; i < removal->count; i++)
        if (removal->runs[i].may_run)
            log_warning("%s is not there, or empty: this run may still be under way", removal->runs[i].path);
    return print(&text);
}

/* Whether somebody at the terminal says yes. */
static bool ask(const struct removal *removal)
{
    struct run_removal all = {0};
    struct strbuf question = STRBUF_INIT;
    char answer[16] = "";

    for (size_t i = 0; i < removal->count; i++) {
        all.files += removal->runs[i].all.files;
        all.bytes += removal->runs[i].all.bytes;
    }
    strbuf_addf(&question, "Remove %zu run%s (", removal->count, removal->count == 1 ? "" : "s");
    add_amount(&question, &all);
    strbuf_adds(&question, ")? [y/N] ");
    (void)file_write_all(STDERR_FILENO, strbuf_text(&question), question.length);
    strbuf_fini(&question);
    if (!fgets(answer, sizeof(answer), stdin)) {
        (void)file_write_all(STDERR_FILENO, "\n", 1);
        return false;
    }
    answer[strcspn(answer, "\n")] = '\0';
    return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}

static int remove_all(struct removal *removal)
{
    struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < removal->count; i++) {
        const struct removal_run *run = &removal->runs[i];
        struct metron_error error = {0};
        struct recording recording = {0};
        struct run_removal done = {0};
        /* It may have begun anew while somebody thought about the answer. */
        int code = removal_read(run->path, &recording, &error);
        if (code == 0)
            code = refuse_one_that_runs(&recording, "runs by now", &error);
        if (code == 0 && recording.id != run->id)
            code = error_set(&error, -ESTALE, "%s has changed by now; it is not removed", run->path);
        if (code == 0)
            code = run_remove(run->path, &run->all, &done, &error);
        recording_fini(&recording);
        if (code < 0) {
            log_error("%s", error.message);
            removal->trouble = true;
        }
        if (done.files > 0)
            add_line(&text, code == 0 ? "removed" : "removed some of", run, &done);
    }
    return print(&text);
}

int removal_do(struct removal *removal, const struct settings *settings, const char *command)
{
    int exit_code = EXIT_OK;

    if (removal->count == 0)
        return removal->trouble ? EXIT_TROUBLE : EXIT_OK;
    if (!settings_flag(settings, SETTING_YES)) {
        exit_code = show(removal);
        if (exit_code != EXIT_OK)
            return exit_code;
        if (!isatty(STDIN_FILENO)) {
            log_error("%s: nothing was removed: there is no terminal to ask on; --yes removes without asking",
                      command);
            return EXIT_WRONG_USAGE;
        }
        if (!ask(removal)) {
            log_info("nothing was removed");
            return EXIT_TROUBLE;
        }
    }
    exit_code = remove_all(removal);
    return removal->trouble ? EXIT_TROUBLE : exit_code;
}

void removal_fini(struct removal *removal)
{
    for (size_t i = 0; i < removal->count; i++)
        free(removal->runs[i].path);
    free(removal->runs);
    *removal = (struct removal){0};
}
