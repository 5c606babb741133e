#include "probe/gpu/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "probe/gpu/nvidia_smi.h"
#include "probe/gpu/nvml.h"

/* The library takes milliseconds for a reading. The program is a process each time, and takes a tenth of a
 * second or more. */
#define LIBRARY_PERIOD_SECONDS 0.1
#define PROGRAM_PERIOD_SECONDS 1.0

struct gpu_source {
    struct nvml *nvml; /* NULL: the program */
    struct nvidia_smi program;
};

const char *gpu_field_name(enum gpu_field field)
{
    static const char *const names[GPU_FIELD_COUNT] = {
        [GPU_UTILIZATION] = "utilization", [GPU_MEMORY] = "memory", [GPU_TEMPERATURE] = "temperature"};

    return names[field];
}

void gpu_device_lacks(struct gpu_device *device, enum gpu_field field, const char *why)
{
    device->has[field] = false;
    (void)snprintf(device->why_not[field], GPU_REASON_SIZE, "%s", why);
}

bool gpu_device_is_lost(const struct gpu_device *device)
{
    bool has_any = false;

    for (int field = 0; field < GPU_FIELD_COUNT; field++)
        has_any = has_any || device->has[field];
    return !has_any;
}

int gpu_source_open(struct gpu_source **out, struct metron_error *error)
{
    struct gpu_source *source = calloc(1, sizeof(*source));
    struct metron_error why = {0};

    *out = NULL;
    if (!source)
        return error_set(error, -ENOMEM, "no memory to look at GPUs");
    if (nvml_open(&source->nvml, &why) < 0 && nvidia_smi_find(&source->program) < 0) {
        free(source);
        return error_set(error, -ENOENT, "%s, and there is no nvidia-smi in PATH", why.message);
    }
    *out = source;
    return 0;
}

const char *gpu_source_name(const struct gpu_source *source)
{
    return source->nvml ? NVML_LIBRARY : source->program.path;
}

double gpu_source_period(const struct gpu_source *source)
{
    return source->nvml ? LIBRARY_PERIOD_SECONDS : PROGRAM_PERIOD_SECONDS;
}

int gpu_source_read(struct gpu_source *source, struct gpu_list *out, struct metron_error *error)
{
    out->count = 0;
    return source->nvml ? nvml_read(source->nvml, out, error) : nvidia_smi_run(&source->program, out, error);
}

void gpu_source_close(struct gpu_source *source)
{
    if (!source)
        return;
    if (source->nvml)
        nvml_close(source->nvml);
    else
        nvidia_smi_fini(&source->program);
    free(source);
}
