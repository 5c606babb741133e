/*
 * NVIDIA GPUs of the machine, with what all processes do on them.
 *
 * The driver may block, so a thread asks it (probe/gpu/readings.h), from the first sample on. A pass takes
 * the newest reading there is, and each device's row has the time of that reading. The library is all that a
 * run uses: the program nvidia-smi would be a child of metron's, and count as the target's.
 */
#include "collect/collector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "probe/gpu/readings.h"

#define FINAL_SECONDS 0.05 /* for the last reading of the counters, at most */

static const char *const fields[GPU_FIELD_COUNT] = {
    [GPU_UTILIZATION] = "nvmlDeviceGetUtilizationRates: gpu",
    [GPU_MEMORY_USED] = "nvmlDeviceGetMemoryInfo_v2: used",
    [GPU_MEMORY_TOTAL] = "nvmlDeviceGetMemoryInfo_v2: total",
    [GPU_TEMPERATURE] = "nvmlDeviceGetTemperatureV: GPU",
    [GPU_POWER] = "nvmlDeviceGetPowerUsage",
    [GPU_ENERGY] = "nvmlDeviceGetTotalEnergyConsumption",
};

#define DEVICE(KEY, FIELD, TYPE, UNIT, REDUCE, MEANING, ...)                                                 \
    MEASUREMENT(KEY, TOPIC_GPU, FIELD, SCOPE_PER_DEVICE, TYPE, UNIT, REDUCE, COST_GPU, MEANING, __VA_ARGS__)

static const struct measurement measurements[] = {
    DEVICE("gpu_util", GPU_UTILIZATION, TYPE_GAUGE, UNIT_PERCENT, REDUCE_MAX,
           "share of the time in which the GPU ran any kernel, over the driver's last period (up to 1 s)",
           COLUMN("utilization_pct", "utilization_pct")),
    DEVICE("gpu_mem_used", GPU_MEMORY_USED, TYPE_GAUGE, UNIT_BYTES, REDUCE_MAX,
           "memory of the GPU in use by all processes, without what the driver reserves for itself",
           COLUMN("memory_used_mb", "memory_used_mb")),
    DEVICE("gpu_mem_total", GPU_MEMORY_TOTAL, TYPE_GAUGE, UNIT_BYTES, REDUCE_MAX, "memory of the GPU",
           COLUMN("memory_total_mb", "memory_total_mb")),
    DEVICE("gpu_temp", GPU_TEMPERATURE, TYPE_GAUGE, UNIT_CELSIUS, REDUCE_MAX, "temperature of the GPU",
           COLUMN("temperature_c", "temperature")),
    DEVICE("gpu_power", GPU_POWER, TYPE_GAUGE, UNIT_WATTS, REDUCE_MAX,
           "power that the GPU and its memory draw; the mean over a second on newer GPUs"),
    DEVICE("gpu_energy", GPU_ENERGY, TYPE_COUNTER, UNIT_JOULES, REDUCE_DELTA,
           "energy that the GPU and its memory used, from the first reading on"),
};

struct gpu_state {
    struct gpu_readings *readings; /* NULL: the thread was not started */
    struct metron_error failure;   /* why it could not be */
    uint64_t wanted;
    struct strbuf logged, text;
};

static void survey(const struct collect_context *context, const char *reasons[])
{
    static struct metron_error error;
    struct gpu_source *source = NULL;

    if (context->tuning->gpu_off)
        (void)error_set(&error, -ECANCELED, "GPUs are switched off by gpu-enabled");
    else if (gpu_source_open(&source, context->tuning->is_daemon, &error) == 0)
        gpu_source_close(source);
    if (!source)
        survey_all(&collector_gpu.source, error.message, reasons);
}

static int open_state(const struct collect_context *context, unsigned cost, void **state)
{
    struct gpu_state *gpu = calloc(1, sizeof(*gpu));

    (void)cost;
    if (!gpu)
        return -ENOMEM;
    gpu->wanted = context->selected;
    *state = gpu;
    return 0;
}

static void close_state(void *state)
{
    struct gpu_state *gpu = state;

    gpu_readings_free(gpu->readings);
    strbuf_fini(&gpu->logged);
    strbuf_fini(&gpu->text);
    free(gpu);
}

static void ask(void *state, const struct collect_context *context)
{
    struct gpu_state *gpu = state;

    if (!gpu->readings && !gpu->failure.code)
        (void)gpu_readings_new(&gpu->readings, context->tuning->is_daemon, gpu->wanted, &gpu->failure);
    if (gpu->readings)
        gpu_readings_ask(gpu->readings);
}

/* Logs what cannot be read, once for as long as it stays the same. Single values only in the daemon: a run
 * says it by their absence. */
static void log_missing(struct gpu_state *gpu, const struct gpu_list *list, const struct metron_error *error,
                        bool is_daemon)
{
    strbuf_reset(&gpu->text);
    if (!list)
        strbuf_adds(&gpu->text, error->message);
    else if (is_daemon)
        gpu_list_absences(&gpu->text, list);
    const char *text = strbuf_text(&gpu->text);
    if (gpu->text.failed || strcmp(text, strbuf_text(&gpu->logged)) == 0)
        return;
    if (!list)
        log_warning("GPUs: %s; their values are missing", text);
    else
        log_info("GPUs: %s", *text ? text : "all can be read again");
    strbuf_reset(&gpu->logged);
    strbuf_adds(&gpu->logged, text);
}

static int put_devices(struct pass *pass, const struct gpu_list *list, uint64_t begin_ns)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct gpu_device *device = &list->devices[i];
        const struct subject subject = subject_of_device(device->index);
        struct row *row = pass_row(pass, &subject);

        if (!row)
            return -ENOMEM;
        row->stamp_ns = begin_ns;
        for (unsigned field = 0; field < GPU_FIELD_COUNT; field++)
            if (device->has[field])
                row_number(row, field, device->values[field]);
    }
    return 0;
}

static int collect(void *state, const struct collect_context *context, struct pass *pass)
{
    struct gpu_state *gpu = state;
    struct metron_error error = gpu->failure;
    const struct gpu_list *list = NULL;
    uint64_t begin_ns = 0;

    if (gpu->readings) {
        if (pass->kind == PASS_FINAL)
            gpu_readings_wait(gpu->readings, FINAL_SECONDS);
        list = gpu_readings_take(gpu->readings, context->tuning->sample_interval, &begin_ns, &error);
        if (!list && error.code == -EAGAIN)
            return COLLECT_NOT_DUE;
    } else if (!error.code) {
        return COLLECT_NOT_DUE; /* before the first sample */
    }
    log_missing(gpu, list, &error, context->tuning->is_daemon);
    return list ? put_devices(pass, list, begin_ns) : error.code;
}

const struct collector collector_gpu = {
    .source =
        SOURCE("gpu", "NVIDIA's library NVML: the GPUs of the machine and what all processes do on them"),
    .logs_failures = true,
    .survey = survey,
    .open = open_state,
    .ask = ask,
    .collect = collect,
    .close = close_state,
};
