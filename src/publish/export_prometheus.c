/*
 * A Prometheus textfile, for node_exporter's textfile collector or a pushgateway: what the run used, once.
 *
 * Two groups of metrics. metron_run_*: the questions everybody asks, under the names known from
 * process-exporter (num_procs, cpu_seconds_total, memory_bytes, and so on). metron_SOURCE_*: every number of
 * the summary, by the registry of the recording (con-duct's: metron_duct_*). Base units: bytes, seconds, and
 * ratios where metron has percent; counters end in _total and nothing else does.
 *
 * A run that is over has no level any more: a gauge is its peak and its average, as the label `statistic`
 * says, or its last value. The label `source` is the key of the recording, so that two methods are never one
 * series; `run` is the run's own name, so that two runs of one command are not either. Its job is
 * `metron_job`: `job` is Prometheus' own. No timestamps: node_exporter refuses them. Nothing that was not
 * measured is there.
 */
#include "publish/export_prometheus.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_reader.h"
#include "base/text.h"
#include "publish/export_values.h"

#define LABEL_MAX 200 /* bytes of a label; the whole text is in info.json */

/* Each as \\\\xNN: the label then has a backslash before the x. */
static void add_bytes(struct strbuf *out, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        strbuf_addf(out, "\\\\x%02x", (unsigned char)bytes[i]);
}

/* As HELP has it; with `quotes` as a label has it. What is no text becomes \\xNN. */
static void escape(struct strbuf *out, const char *text, size_t length, bool quotes)
{
    for (size_t i = 0; i < length; i++) {
        size_t step = text[i] & 0x80 ? text_utf8_length(text + i, length - i) : 1;

        if (text[i] == '\\' || (text[i] == '"' && quotes))
            strbuf_addf(out, "\\%c", text[i]);
        else if (text[i] == '\n')
            strbuf_adds(out, "\\n");
        else if (step == 0 || text_is_control(text_character(text + i, step)))
            add_bytes(out, text + i, step ? step : 1);
        else
            strbuf_add(out, text + i, step);
        i += step > 1 ? step - 1 : 0;
    }
}

void prometheus_label(struct strbuf *out, const char *name, const char *text)
{
    size_t length = text_cut(text, LABEL_MAX);

    strbuf_addf(out, "%s%s=\"", out->length ? "," : "", name);
    escape(out, text, length, true);
    strbuf_adds(out, text[length] ? "...\"" : "\"");
}

void prometheus_family(struct strbuf *out, const char *name, const char *type, const char *help)
{
    strbuf_addf(out, "# HELP %s ", name);
    escape(out, help, strlen(help), false);
    strbuf_addf(out, "\n# TYPE %s %s\n", name, type);
}

/* `labels` are further ones, written out; "": none. */
void prometheus_sample(struct export *export, const char *name, const char *labels, double value)
{
    const struct prometheus_state *state = export->state;
    const char *common = strbuf_text(&state->labels);

    if (!isfinite(value))
        return;
    strbuf_addf(&export->out, "%s{%s%s%s} ", name, common, *common && *labels ? "," : "", labels);
    (void)export_number(&export->out, value);
    strbuf_addc(&export->out, '\n');
}

/* Its type is in its name: counters end in _total. */
struct metric {
    const char *name, *help;
    const char *label; /* written out; NULL: none */
};

/* With the head of its family before the first of it: samples of one family follow each other. A statistic
 * and a source may be NULL. */
static void add_sample(struct export *export, const struct metric *metric, const char *statistic,
                       const char *source, double value)
{
    struct prometheus_state *state = export->state;
    struct strbuf labels = STRBUF_INIT;

    if (!state->family || strcmp(state->family, metric->name) != 0)
        prometheus_family(&export->out, metric->name,
                          text_ends_with(metric->name, "_total") ? "counter" : "gauge", metric->help);
    state->family = metric->name;
    if (metric->label)
        strbuf_adds(&labels, metric->label);
    if (statistic)
        prometheus_label(&labels, "statistic", statistic);
    if (source)
        prometheus_label(&labels, "source", source);
    prometheus_sample(export, metric->name, strbuf_text(&labels), value);
    strbuf_fini_part(&labels, &export->out);
}

/* The first of `names` that the run has. */
static void add_found(struct export *export, const struct metric *metric, const char *statistic,
                      const char *const *names)
{
    const char *source;
    double value;

    if (export_find(export, names, &value, &source))
        add_sample(export, metric, statistic, source, value);
}

/* Labels and the fields that they are of. */
static void add_texts(struct strbuf *labels, const struct recording *recording, const char *const texts[][2],
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = recording_text(recording, texts[i][1]);

        if (text)
            prometheus_label(labels, texts[i][0], text);
    }
}

static void add_info(struct export *export)
{
    static const struct metric start = {"metron_run_start_time_seconds",
                                        "When the run started, in unix time.", NULL};
    static const struct metric wall = {
        "metron_run_wall_seconds", "How long it ran; of one that still runs, until its newest record.", NULL};
    static const struct metric exit_code = {"metron_run_exit_code",
                                            "Its exit code; 128 + N: it died by signal N.", NULL};
    static const char *const texts[][2] = {{"cause", "cause"},
                                           {"outcome", "outcome.kind"},
                                           {"user", "system.user"},
                                           {"status", "status"},
                                           {"tier", "provenance.tier"}};
    const struct recording *recording = export->recording;
    struct strbuf labels = STRBUF_INIT;
    double value;

    prometheus_label(&labels, "recorded_by", recording->kind == RECORDING_DUCT ? "con-duct" : "metron");
    add_texts(&labels, recording, texts, sizeof(texts) / sizeof(texts[0]));
    const struct metric info = {"metron_run_info", "What is known about the run; always 1.",
                                strbuf_text(&labels)};
    add_sample(export, &info, NULL, NULL, 1);
    strbuf_fini_part(&labels, &export->out);
    if (recording->start_wall > 0)
        add_sample(export, &start, NULL, NULL, recording->start_wall);
    if (export_wall(export, &value))
        add_sample(export, &wall, NULL, NULL, value);
    if (recording_number(recording, "exit_code", &value))
        add_sample(export, &exit_code, NULL, NULL, value);
}

/* One name of process-exporter. */
struct known_gauge {
    struct metric metric;
    const char *peak[4], *average[4];
};

#define MEMORY_HELP                                                                                          \
    "Memory of all processes together; resident counts a shared page once per process, "                     \
    "proportionalResident divides it by its sharers."

static const struct known_gauge known_gauges[] = {
    {{"metron_run_num_procs", "Processes alive at once.", NULL},
     {"proc_peak_processes"},
     {"proc_ave_processes"}},
    {{"metron_run_num_threads", "Threads of all processes.", NULL},
     {"proc_peak_threads_total"},
     {"proc_ave_threads_total"}},
    {{"metron_run_open_filedesc", "Open file descriptors of all processes.", NULL},
     {"proc_peak_fds_total"},
     {"proc_ave_fds_total"}},
    {{"metron_run_memory_bytes", MEMORY_HELP, "memtype=\"resident\""},
     {"proc_peak_rss_total", "ps_peak_rss_total", "peak_rss"},
     {"proc_ave_rss_total", "ps_ave_rss_total", "average_rss"}},
    {{"metron_run_memory_bytes", MEMORY_HELP, "memtype=\"virtual\""},
     {"proc_peak_vsz_total", "ps_peak_vsz_total", "peak_vsz"},
     {"proc_ave_vsz_total", "ps_ave_vsz_total", "average_vsz"}},
    {{"metron_run_memory_bytes", MEMORY_HELP, "memtype=\"proportionalResident\""},
     {"smaps_peak_pss_total"},
     {"smaps_ave_pss_total"}},
    {{"metron_run_memory_bytes", MEMORY_HELP, "memtype=\"proportionalSwapped\""},
     {"smaps_peak_swap_total"},
     {"smaps_ave_swap_total"}},
};

static void add_known_gauges(struct export *export)
{
    for (size_t i = 0; i < sizeof(known_gauges) / sizeof(known_gauges[0]); i++) {
        add_found(export, &known_gauges[i].metric, "peak", known_gauges[i].peak);
        add_found(export, &known_gauges[i].metric, "average", known_gauges[i].average);
    }
}

static void add_known_counters(struct export *export)
{
    static const char *const processes[] = {"processes", "proc_spawned", NULL};
    const struct {
        struct metric metric;
        const char *const *names;
    } counters[] = {
        {{"metron_run_read_bytes_total", "Bytes fetched from storage.", NULL}, export_read_bytes},
        {{"metron_run_write_bytes_total", "Bytes sent towards storage.", NULL}, export_write_bytes},
        {{"metron_run_major_page_faults_total", "Page faults with I/O.", NULL}, export_major_faults},
        {{"metron_run_minor_page_faults_total", "Page faults without I/O.", NULL}, export_minor_faults},
        {{"metron_run_context_switches_total",
          "Times that a thread left the CPU, to wait or because its time was up.",
          "ctxswitchtype=\"voluntary\""},
         export_ctx_voluntary},
        {{"metron_run_context_switches_total",
          "Times that a thread left the CPU, to wait or because its time was up.",
          "ctxswitchtype=\"nonvoluntary\""},
         export_ctx_involuntary},
        {{"metron_run_processes_total", "Processes that began.", NULL}, processes},
    };

    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
        add_found(export, &counters[i].metric, NULL, counters[i].names);
}

/* The headline: answers with their method. */
static void add_headline(struct export *export)
{
    static const struct metric cpu = {"metron_run_cpu_seconds_total", "CPU seconds of the whole tree.", NULL};
    static const struct metric memory = {"metron_run_peak_memory_bytes",
                                         "Largest memory held at once, by the best method there was.", NULL};
    static const char *const peak[] = {"peak_memory", NULL};
    const char *source;
    double value;

    if (export_cpu_seconds(export, &value, &source))
        add_sample(export, &cpu, NULL, source, value);
    add_found(export, &memory, NULL, peak);
}

/* States of processes, from the tallies of the records: how many were found in each, on average of all
 * samples.
 */
static const char *const state_keys[] = {"proc_stat", "ps_stat", "stat", NULL};
static const char *const state_labels[PROMETHEUS_STATES] = {
    "state=\"Running\"", "state=\"Sleeping\"", "state=\"Waiting\"", "state=\"Zombie\"", "state=\"Other\""};

static size_t state_of(char letter)
{
    static const char letters[] = "RSDZ";
    const char *found = letter ? strchr(letters, letter) : NULL;

    return found ? (size_t)(found - letters) : PROMETHEUS_STATES - 1;
}

static const char *state_key(const struct recording *recording)
{
    for (const char *const *name = state_keys; *name; name++)
        if (recording_key_index(recording, *name) >= 0)
            return *name;
    return NULL;
}

static bool prometheus_wants(const struct recording *recording, const struct recorded_key *key)
{
    if (key->scope != SCOPE_PER_PID || key->type != TYPE_CATEGORICAL)
        return false;
    const char *name = state_key(recording);
    return name && strcmp(name, key->key) == 0;
}

static int prometheus_record(struct export *export, const struct usage_record *record)
{
    struct prometheus_state *state = export->state;
    struct json_reader reader;
    struct json_text letter;
    double count;

    json_reader_init(&reader, "", 0);
    for (size_t i = 0; i < record->count; i++) {
        const struct usage_value *value = &record->values[i];

        if (value->kind != FIELD_JSON || !value->subject || !value->text)
            continue;
        json_reader_reset(&reader, value->text, strlen(value->text));
        if (!json_enter_object(&reader))
            continue;
        while (json_next_key(&reader, &letter)) {
            if (!json_read_number(&reader, &count))
                (void)json_skip(&reader);
            else if (isfinite(count))
                state->states[state_of(letter.length ? letter.bytes[0] : '\0')] += count;
            state->has_states = true;
        }
    }
    json_reader_fini(&reader);
    return 0;
}

static void add_states(struct export *export)
{
    struct metric metric = {"metron_run_states", "Processes in each state, on average over all samples.",
                            NULL};
    const struct prometheus_state *state = export->state;
    const char *source = state_key(export->recording);

    if (!state->has_states || export->sample_count == 0 || !source)
        return;
    for (size_t i = 0; i < PROMETHEUS_STATES; i++) {
        metric.label = state_labels[i];
        add_sample(export, &metric, "average", source, state->states[i] / (double)export->sample_count);
    }
}

/* The last part of its prefix: "logs/2026.11.15T07.42.53-812_" -> "2026.11.15T07.42.53-812_", "logs/align/"
 * -> "align". False: it has none, like that of "./info.json". */
static bool add_run_label(struct strbuf *labels, const char *prefix)
{
    struct strbuf name = STRBUF_INIT;
    size_t end = prefix ? strlen(prefix) : 0;

    while (end > 0 && prefix[end - 1] == '/')
        end--;
    size_t begin = end;
    while (begin > 0 && prefix[begin - 1] != '/')
        begin--;
    strbuf_add(&name, prefix ? prefix + begin : "", end - begin);
    bool is_name =
        end > begin && strcmp(strbuf_text(&name), ".") != 0 && strcmp(strbuf_text(&name), "..") != 0;
    if (is_name)
        prometheus_label(labels, "run", strbuf_text(&name));
    strbuf_fini_part(&name, labels);
    return is_name;
}

/* By where it lies, else by where it was recorded, else by when. */
static void add_run(const struct recording *recording, struct strbuf *labels)
{
    const char *start = recording_text(recording, "start_time");

    if (!add_run_label(labels, recording_text(recording, "prefix")) &&
        !add_run_label(labels, recording_text(recording, "output_paths.prefix")) && start)
        prometheus_label(labels, "run", start);
}

static int prometheus_begin(struct export *export, struct metron_error *error)
{
    static const char *const texts[][2] = {
        {"metron_job", "job"}, {"host", "system.hostname"}, {"command", "command"}};
    struct prometheus_state *state = calloc(1, sizeof(*state));

    (void)error;
    export->state = state;
    if (!state)
        return -ENOMEM;
    add_run(export->recording, &state->labels);
    add_texts(&state->labels, export->recording, texts, sizeof(texts) / sizeof(texts[0]));
    return state->labels.failed ? -ENOMEM : 0;
}

static int prometheus_end(struct export *export)
{
    add_info(export);
    add_headline(export);
    add_known_gauges(export);
    add_known_counters(export);
    add_states(export);
    return prometheus_registry(export);
}

static void prometheus_fini(struct export *export)
{
    struct prometheus_state *state = export->state;

    if (state)
        strbuf_fini(&state->labels);
    free(state);
}

const struct exporter exporter_prometheus = {
    .name = "prometheus",
    .reduces = true,
    .wants = prometheus_wants,
    .begin = prometheus_begin,
    .record = prometheus_record,
    .end = prometheus_end,
    .fini = prometheus_fini,
};
