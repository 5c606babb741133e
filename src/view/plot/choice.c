#include "view/plot/choice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "view/plot/keys.h"

static int no_memory(struct metron_error *error)
{
    return error_set(error, -ENOMEM, "out of memory");
}

static int connect(struct plot *plot, const struct recorded_key *key, struct plot_sink to)
{
    const size_t index = (size_t)(key - plot->recording->keys);
    struct plot_sink *sink = arena_alloc(&plot->arena, sizeof(*sink));

    if (!sink)
        return -ENOMEM;
    *sink = to;
    sink->next = plot->sinks[index];
    plot->sinks[index] = sink;
    plot->wanted[index] = true;
    return 0;
}

static struct plot_panel *new_panel(struct plot *plot, const char *title, enum unit unit)
{
    struct plot_panel *panel = arena_alloc(&plot->arena, sizeof(*panel));

    if (!panel || plot->panel_count == PLOT_PANELS_MAX)
        return NULL;
    panel->groups = arena_alloc(&plot->arena, PLOT_KEYS_MAX * sizeof(*panel->groups));
    if (!panel->groups)
        return NULL;
    panel->title = title;
    panel->unit = unit;
    plot->panels[plot->panel_count++] = panel;
    return panel;
}

/* The key, and what one has to know to read it. */
static const char *label_of(struct plot *plot, const struct recorded_key *key, bool per_second)
{
    const char *name = plot_printable(plot, key->key);

    if (!name)
        return NULL;
    /* Shown wherever a sum over processes is that is too high. */
    if (!key->note && key->scope == SCOPE_SINGLE && !key->statistic && key->unit == UNIT_BYTES &&
        key->topic == TOPIC_MEMORY && key->bound == BOUND_UPPER)
        return arena_printf(&plot->arena, "%s (counts shared pages in each process)", name);
    if (key->note)
        return arena_printf(&plot->arena, "%s (%s)", name, key->note);
    if (per_second)
        return arena_printf(&plot->arena, "%s / window", name);
    if (key->reduce == REDUCE_DELTA && key->type == TYPE_COUNTER)
        return arena_printf(&plot->arena, "%s per window", name);
    return name;
}

/* `out` may be NULL. */
static int add_line(struct plot *plot, struct plot_panel *panel, const struct recorded_key *key,
                    enum plot_role role, unsigned color, struct plot_line **out)
{
    /* CPU seconds of a window in a panel of percent: how busy it was, on the average of the window. */
    const bool per_second = panel->unit == UNIT_PERCENT && key->unit == UNIT_SECONDS;

    if (panel->line_count == PLOT_LINES_MAX)
        return 0;
    struct plot_line *line = &panel->lines[panel->line_count++];
    *line = (struct plot_line){.role = role, .color = color, .per_second = per_second};
    if (out)
        *out = line;
    plot_series_init(&line->series, 4096, recording_hold_seconds(plot->recording, key));
    line->label = label_of(plot, key, per_second);
    return line->label ? connect(plot, key, (struct plot_sink){.line = line}) : -ENOMEM;
}

static int add_group(struct plot *plot, struct plot_panel *panel, const struct recorded_key *key,
                     unsigned color)
{
    if (panel->group_count == PLOT_KEYS_MAX)
        return 0;
    struct plot_group *group = &panel->groups[panel->group_count++];
    *group = (struct plot_group){.key = key,
                                 .name = plot_printable(plot, key->key),
                                 .color = color,
                                 .per_second = panel->unit == UNIT_PERCENT && key->unit == UNIT_SECONDS};
    if (plot_subjects_init(&group->subjects, key->type == TYPE_COUNTER) < 0 || !group->name)
        return -ENOMEM;
    group->subjects.hold = recording_hold_seconds(plot->recording, key);
    return connect(plot, key, (struct plot_sink){.group = group});
}

/* What comes with a key. */
enum company { KEY_ALONE, KEY_AND_MEAN, KEY_AND_ALL /* its mean and its processes */ };

static int add_key(struct plot *plot, struct plot_panel *panel, const struct recorded_key *key,
                   enum plot_role role, enum company company)
{
    const struct recorded_key *mean = company >= KEY_AND_MEAN ? plot_key_of_mean(plot->recording, key) : NULL;
    const struct recorded_key *processes =
        company == KEY_AND_ALL ? plot_key_per_process(plot->recording, key) : NULL;
    const unsigned color = plot->colors_used++;
    struct plot_line *line = NULL, *mean_line = NULL;
    int code;

    if (key->scope != SCOPE_SINGLE)
        return add_group(plot, panel, key, color);
    code = add_line(plot, panel, key, role, color, &line);
    if (code == 0 && mean && role == PLOT_MAIN)
        code = add_line(plot, panel, mean, PLOT_MEAN, color, &mean_line);
    if (line && key->reduce == REDUCE_MAX)
        line->mean = mean_line;
    if (code == 0 && processes)
        code = add_group(plot, panel, processes, color);
    return code;
}

static int add_cpu_panel(struct plot *plot, const char *asked, struct metron_error *error)
{
    static const enum unit units[] = {UNIT_PERCENT, UNIT_SECONDS};
    const struct recorded_key *key = plot_key_of_cpu(plot->recording);
    double cpus;

    if (asked) {
        int code = plot_key_asked(plot->recording, asked, "--cpu", units, &key, error);
        if (code < 0)
            return code;
    }
    if (!key)
        return 0;
    struct plot_panel *panel = new_panel(plot, "CPU", UNIT_PERCENT);
    if (!panel || add_key(plot, panel, key, PLOT_MAIN, KEY_AND_ALL) < 0)
        return no_memory(error);
    panel->unit_note = "100 = one core";
    const bool may_use = recording_number(plot->recording, "system.may_use.cpus", &cpus);
    if (may_use || recording_number(plot->recording, "system.cpu_total", &cpus))
        panel->levels[panel->level_count++] = (struct plot_level){
            .label = arena_printf(&plot->arena, "%s %.4g CPU%s", may_use ? "may use" : "host:", cpus,
                                  cpus == 1 ? "" : "s"),
            .value = 100 * cpus,
            .kind = may_use ? PLOT_LIMIT : PLOT_HOST};
    return 0;
}

static void add_memory_levels(struct plot *plot, struct plot_panel *panel)
{
    const struct recording *recording = plot->recording;
    double host = 0, limit = 0, group = 0;
    char text[UNIT_TEXT_SIZE];

    (void)recording_number(recording, "system.memory_total", &host);
    (void)recording_number(recording, "system.may_use.memory", &limit);
    if (recording_topic_number(recording, TOPIC_MEMORY_LIMIT, &group) && group > 0 &&
        (limit <= 0 || group < limit))
        limit = group;
    if (limit > 0 && (host <= 0 || limit < host))
        panel->levels[panel->level_count++] = (struct plot_level){
            .label = arena_printf(&plot->arena, "limit %s", unit_human(UNIT_BYTES, limit, text)),
            .value = limit,
            .kind = PLOT_LIMIT};
    if (host > 0)
        panel->levels[panel->level_count++] = (struct plot_level){
            .label = arena_printf(&plot->arena, "host memory %s", unit_human(UNIT_BYTES, host, text)),
            .value = host,
            .kind = PLOT_HOST};
}

/* The peak of the headline, where no line of the panel has it. */
static void add_memory_peak(struct plot *plot, struct plot_panel *panel)
{
    const struct recorded_field *peak = recording_field(plot->recording, "peak_memory");
    char text[UNIT_TEXT_SIZE];

    if (!peak || !peak->source || !(peak->number > 0) || plot_key_of_method(plot->recording, peak->source))
        return;
    const char *source = plot_printable(plot, peak->source);
    panel->levels[panel->level_count++] =
        (struct plot_level){.label = source ? arena_printf(&plot->arena, "peak %s, %s",
                                                           unit_human(UNIT_BYTES, peak->number, text), source)
                                            : NULL,
                            .value = peak->number,
                            .kind = PLOT_PEAK};
}

static int add_memory_panel(struct plot *plot, const char *asked, struct metron_error *error)
{
    static const enum unit units[] = {UNIT_BYTES, UNIT_BYTES};
    const struct recorded_key *total = plot_key_of_memory_total(plot->recording);
    const struct recorded_key *first = plot_key_of_headline_memory(plot->recording);
    int code = 0;

    if (asked) {
        code = plot_key_asked(plot->recording, asked, "--memory", units, &first, error);
        if (code < 0)
            return code;
        total = NULL;
    }
    if (!first && !total)
        return 0;
    struct plot_panel *panel = new_panel(plot, "memory", UNIT_BYTES);
    if (!panel)
        return no_memory(error);
    if (first)
        code = add_key(plot, panel, first, PLOT_MAIN, KEY_AND_ALL);
    /* Processes by one method: those of the other would stand among them, told apart by nothing. */
    if (code == 0 && total && total != first)
        code = add_key(plot, panel, total, first ? PLOT_BESIDE : PLOT_MAIN,
                       panel->group_count ? KEY_ALONE : KEY_AND_ALL);
    if (code < 0)
        return no_memory(error);
    if (!asked)
        add_memory_peak(plot, panel);
    add_memory_levels(plot, panel);
    return 0;
}

/* How busy each device was, by the first key that says so. */
static int add_device_panel(struct plot *plot, struct metron_error *error)
{
    for (size_t i = 0; i < plot->recording->key_count; i++) {
        const struct recorded_key *key = &plot->recording->keys[i];
        if (key->scope != SCOPE_PER_DEVICE || key->unit != UNIT_PERCENT || !type_is_number(key->type))
            continue;
        struct plot_panel *panel = new_panel(plot, "devices", key->unit);
        return panel && add_key(plot, panel, key, PLOT_MAIN, KEY_ALONE) == 0 ? 0 : no_memory(error);
    }
    return 0;
}

/* The next item of a comma-separated list, without blanks around it; false at the end. */
static bool next_item(const char **cursor, char out[PLOT_KEY_SIZE])
{
    *cursor += strspn(*cursor, ", \t");
    size_t length = strcspn(*cursor, ",");

    if (**cursor == '\0')
        return false;
    const char *item = *cursor;
    *cursor += length;
    while (length > 0 && (item[length - 1] == ' ' || item[length - 1] == '\t'))
        length--;
    (void)snprintf(out, PLOT_KEY_SIZE, "%.*s", (int)length, item);
    return true;
}

struct chosen {
    const struct recorded_key *keys[PLOT_KEYS_MAX];
    size_t count;
    size_t matched; /* may be more than fit */
};

static void choose_key(struct chosen *chosen, const struct recorded_key *key)
{
    for (size_t i = 0; i < chosen->count; i++)
        if (chosen->keys[i] == key)
            return;
    chosen->matched++;
    if (chosen->count < PLOT_KEYS_MAX)
        chosen->keys[chosen->count++] = key;
}

static int choose_item(const struct recording *recording, const char *item, struct chosen *chosen,
                       struct metron_error *error)
{
    const bool is_glob = strpbrk(item, "*?") != NULL;
    const size_t before = chosen->matched;
    size_t words = 0;

    for (size_t i = 0; i < recording->key_count; i++) {
        const struct recorded_key *key = &recording->keys[i];
        /* A mean is drawn beside its key; a glob does not bring it a second time, unless it asks for means.
         */
        if (!text_glob(item, key->key) || (is_glob && key->statistic && !strstr(item, "ave")))
            continue;
        if (!type_is_number(key->type))
            words++;
        else
            choose_key(chosen, key);
    }
    if (words && chosen->matched == before)
        return error_set(error, -EINVAL, "--keys: '%s' is told in words, which cannot be drawn", item);
    if (chosen->matched == before && is_glob)
        return error_set(error, -EINVAL,
                         "--keys: no key of the recording matches '%s'; 'metron pp' shows them", item);
    if (chosen->matched == before && recording_key_index(recording, item) < 0)
        return plot_key_unknown(recording, item, "--keys", error);
    return 0;
}

static struct plot_panel *panel_of_unit(struct plot *plot, size_t from, enum unit unit)
{
    static const char *const titles[] = {
        [UNIT_NONE] = "value",          [UNIT_BYTES] = "bytes", [UNIT_SECONDS] = "duration",
        [UNIT_PERCENT] = "percent",     [UNIT_COUNT] = "count", [UNIT_BYTES_PER_SECOND] = "rate",
        [UNIT_CELSIUS] = "temperature", [UNIT_WATTS] = "power", [UNIT_JOULES] = "energy"};

    for (size_t i = from; i < plot->panel_count; i++)
        if (plot->panels[i]->unit == unit)
            return plot->panels[i];
    return new_panel(plot, titles[unit], unit);
}

static int add_chosen(struct plot *plot, const char *keys, struct metron_error *error)
{
    const size_t first_panel = plot->panel_count;
    struct chosen chosen = {.count = 0};
    char item[PLOT_KEY_SIZE];
    int code = 0;

    for (const char *cursor = keys; code == 0 && next_item(&cursor, item);)
        code = choose_item(plot->recording, item, &chosen, error);
    if (code < 0)
        return code;
    if (chosen.matched == 0)
        return error_set(error, -EINVAL, "--keys: no key is named");
    if (chosen.matched > PLOT_KEYS_MAX)
        return error_set(error, -EINVAL, "--keys: %zu keys are too many for one picture (at most %d)",
                         chosen.matched, PLOT_KEYS_MAX);
    const enum company company = chosen.count <= 2 ? KEY_AND_MEAN : KEY_ALONE;
    for (size_t i = 0; i < chosen.count; i++) {
        struct plot_panel *panel = panel_of_unit(plot, first_panel, chosen.keys[i]->unit);
        if (!panel || add_key(plot, panel, chosen.keys[i], PLOT_MAIN, company) < 0)
            return no_memory(error);
    }
    return 0;
}

/* Whether every level could be named. */
static bool has_labels(const struct plot *plot)
{
    for (size_t i = 0; i < plot->panel_count; i++)
        for (size_t j = 0; j < plot->panels[i]->level_count; j++)
            if (!plot->panels[i]->levels[j].label)
                return false;
    return true;
}

/* Processes whose lines have names of their own need those names. */
static int connect_commands(struct plot *plot)
{
    const struct recorded_key *commands =
        plot_key_of(plot->recording, TOPIC_PROCESS_COMMAND, UNIT_NONE, TYPE_LABEL, SCOPE_PER_PID);
    int code = 0;

    for (size_t i = 0; commands && code == 0 && i < plot->panel_count; i++) {
        struct plot_panel *panel = plot->panels[i];
        if (panel->line_count == 0 && panel->group_count == 1 && panel->groups[0].key->scope == SCOPE_PER_PID)
            code = connect(plot, commands, (struct plot_sink){.group = &panel->groups[0], .command = true});
    }
    return code;
}

int plot_choose(struct plot *plot, const struct plot_wish *wish, struct metron_error *error)
{
    const size_t count = plot->recording->key_count;
    int code = 0;

    plot->wanted = arena_alloc(&plot->arena, (count + 1) * sizeof(*plot->wanted));
    plot->sinks = arena_alloc(&plot->arena, (count + 1) * sizeof(struct plot_sink *));
    if (!plot->wanted || !plot->sinks)
        return no_memory(error);
    if (wish->cpu || !wish->keys)
        code = add_cpu_panel(plot, wish->cpu, error);
    if (code == 0 && (wish->memory || !wish->keys))
        code = add_memory_panel(plot, wish->memory, error);
    if (code == 0 && !wish->keys)
        code = add_device_panel(plot, error);
    if (code == 0 && wish->keys)
        code = add_chosen(plot, wish->keys, error);
    if (code == 0 && plot->panel_count == 0)
        code = error_set(error, -ENODATA,
                         "the recording has neither a CPU nor a memory key; --keys draws others");
    if (code == 0 && (!has_labels(plot) || connect_commands(plot) < 0))
        code = no_memory(error);
    return code;
}
