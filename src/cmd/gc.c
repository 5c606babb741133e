/* metron gc: remove recorded runs that are old. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "cmd/commands.h"
#include "cmd/newest.h"
#include "cmd/removal.h"
#include "store/quantity.h"
#include "store/run_removal.h"
#include "store/runs.h"

static const struct command_description description = {
    .name = "gc",
    .summary = "remove old recorded runs",
    .usage = "--older-than TIME [OPTION...] [PATH...]",
    .description =
        "Removes the runs of metron that ended longer ago than --older-than says, of those in the folder of "
        "the "
        "standard prefix, or at PATH (a folder with all below it, or a glob). With --keep-failed only those "
        "that ended with exit code 0 and did not meet the OOM killer.\n\n"
        "It removes the same files as metron rm, asks in the same way, and prints a line for each run. Runs "
        "that still run, or may because they have no info.json, those of other users, recordings of con-duct "
        "and what cannot be read stay; how many, and why, is said on stderr. The age of a run whose record "
        "was not completed is that of its "
        "info.json.",
    .examples = "  metron gc --older-than 30d --keep-failed\n"
                "  metron gc --older-than 12h --yes results/\n",
    .command = COMMAND_GC,
    .options_anywhere = true,
    .numbers_are_operands = true,
};

/* Why runs stay. */
enum kept {
    KEPT_YOUNGER,
    KEPT_FAILED,
    KEPT_RUNNING,
    KEPT_UNKNOWN,
    KEPT_FOREIGN,
    KEPT_OF_OTHERS,
    KEPT_UNREADABLE,
    KEPT_COUNT
};

struct gc {
    double before; /* unix seconds: what ended later stays */
    bool keep_failed;
    size_t kept[KEPT_COUNT];
    struct removal removal;
};

/* Unix seconds; of one that nobody saw end, when its info.json was written last. */
static double end_of(const struct recording *recording)
{
    struct stat status;
    double wall;

    if (recording->status == RECORDING_ENDED && recording->start_wall > 0 &&
        recording_number(recording, "wall", &wall))
        return recording->start_wall + wall;
    return stat(recording->path, &status) == 0 ? (double)status.st_mtime : clock_wall_seconds();
}

static bool succeeded(const struct recording *recording)
{
    double exit_code, kills;

    return recording->status == RECORDING_ENDED && recording_number(recording, "exit_code", &exit_code) &&
           exit_code == 0 && !recording_met_oom_killer(recording) &&
           !(recording_number(recording, "cgroup_oom_kills", &kills) && kills > 0);
}

static void take(struct gc *gc, const char *path)
{
    struct recording recording = {0};
    struct metron_error error = {0};

    if (run_is_of_another_user(path)) {
        gc->kept[KEPT_OF_OTHERS]++;
    } else if (removal_read(path, &recording, &error) < 0) {
        log_warning("%s", error.message);
        gc->kept[KEPT_UNREADABLE]++;
    } else if (recording.kind != RECORDING_METRON) {
        gc->kept[KEPT_FOREIGN]++;
    } else if (recording.status == RECORDING_RUNNING) {
        gc->kept[KEPT_RUNNING]++;
    } else if (recording.status == RECORDING_UNKNOWN) {
        gc->kept[KEPT_UNKNOWN]++;
    } else if (!(end_of(&recording) < gc->before)) {
        gc->kept[KEPT_YOUNGER]++;
    } else if (gc->keep_failed && !succeeded(&recording)) {
        gc->kept[KEPT_FAILED]++;
    } else {
        removal_add(&gc->removal, &recording);
    }
    recording_fini(&recording);
}

static void tell_kept(const struct gc *gc)
{
    static const char *const words[KEPT_COUNT] = {
        "younger",     "failed",          "running",   "without an info.json",
        "of con-duct", "of another user", "unreadable"};
    struct strbuf text = STRBUF_INIT;

    for (size_t i = 0; i < KEPT_COUNT; i++)
        if (gc->kept[i])
            strbuf_addf(&text, "%s%zu %s", text.length ? ", " : "", gc->kept[i], words[i]);
    if (text.length)
        log_info("kept: %s", strbuf_text(&text));
    strbuf_fini(&text);
}

/* Below the standard folder, or at the paths: false if one cannot be searched. */
static bool find_runs(const struct settings *settings, struct run_list *list, char **paths, int count)
{
    struct metron_error error = {0};
    char *folder = NULL;
    bool all = true;

    if (count > 0) {
        all = named_runs(settings, list, paths, count);
    } else {
        folder = standard_folder(settings);
        if (!folder || ((access(folder, F_OK) == 0 || errno != ENOENT) &&
                        run_list_add(list, folder, NULL, &error) < 0)) {
            log_error("%s", folder ? error.message : "no memory for the list of runs");
            all = false;
        }
        free(folder);
    }
    run_list_sort(list);
    return all;
}

/* Everything that can be wrong before a file is opened. */
static int read_age(const struct settings *settings, double *seconds)
{
    const char *text = settings_text(settings, SETTING_OLDER_THAN);
    struct quantity age = {0};

    if (!text) {
        log_error("gc: which runs? --older-than says how old: metron gc --older-than 30d");
        return EXIT_WRONG_USAGE;
    }
    if (!quantity_parse(text, &age) || age.unit != UNIT_SECONDS || age.value < 0) {
        log_error("gc: --older-than: '%s' is no time; 30d, 12h and 2w are", text);
        return EXIT_WRONG_USAGE;
    }
    *seconds = age.value;
    return EXIT_OK;
}

static int gc_main(int argc, char **argv)
{
    struct settings settings;
    struct gc gc = {0};
    struct run_list list = {0};
    double age = 0;
    int first = argc, exit_code;

    if (!command_begin(&description, argc, argv, &settings, &first, &exit_code))
        goto out;
    exit_code = read_age(&settings, &age);
    if (exit_code != EXIT_OK)
        goto out;
    gc.before = clock_wall_seconds() - age;
    gc.keep_failed = settings_flag(&settings, SETTING_KEEP_FAILED);
    bool all_found = find_runs(&settings, &list, argv + first, argc - first);
    for (size_t i = 0; i < list.count; i++) {
        run_list_prefetch(&list, i);
        take(&gc, list.paths[i]);
    }
    tell_kept(&gc);
    if (gc.removal.count == 0 && !gc.removal.trouble && all_found)
        log_info("no run is that old: nothing was removed");
    exit_code = removal_do(&gc.removal, &settings, "gc");
    if (exit_code == EXIT_OK && !all_found)
        exit_code = EXIT_TROUBLE;
out:
    removal_fini(&gc.removal);
    run_list_fini(&list);
    settings_fini(&settings);
    return exit_code;
}

const struct metron_command command_gc = {&description, gc_main};
