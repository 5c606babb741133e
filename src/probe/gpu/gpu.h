/*
 * The GPUs of the machine: from NVIDIA's library NVML where it can be loaded, else from the program
 * nvidia-smi.
 *
 * What of a device could not be read is absent, with the reason: of one with MIG on, say, the utilization,
 * which only its instances have. A device that can no longer be asked at all (fallen off the bus) is still
 * one of them, with nothing but its index.
 */
#ifndef METRON_PROBE_GPU_GPU_H
#define METRON_PROBE_GPU_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define GPU_DEVICES_MAX 64 /* more in one machine are left out */
#define GPU_REASON_SIZE 64

enum gpu_field {
    GPU_UTILIZATION,
    GPU_MEMORY, /* used and total */
    GPU_TEMPERATURE,
    GPU_FIELD_COUNT,
};

struct gpu_device {
    unsigned index; /* the driver's */
    bool has[GPU_FIELD_COUNT];
    double utilization; /* 1: a kernel ran all the time, over the driver's last period (up to 1 s) */
    uint64_t memory_used_bytes, memory_total_bytes; /* used: as nvidia-smi has it, see nvml.c */
    double temperature_celsius;
    char why_not[GPU_FIELD_COUNT][GPU_REASON_SIZE]; /* of a field it has not */
};

struct gpu_list {
    struct gpu_device devices[GPU_DEVICES_MAX]; /* by index */
    size_t count;
};

const char *gpu_field_name(enum gpu_field field);
/* Says that it has this field not, and why. */
void gpu_device_lacks(struct gpu_device *device, enum gpu_field field, const char *why);

/* Whether nothing of it could be read. */
bool gpu_device_is_lost(const struct gpu_device *device);

struct gpu_source;

/* Finds out who can be asked, and asks nobody: no driver is woken. -ENOENT: neither the library nor the
 * program can be had. */
int gpu_source_open(struct gpu_source **out, struct metron_error *error);
const char *gpu_source_name(const struct gpu_source *source); /* "libnvidia-ml.so.1", or the program's path */
/* Seconds that should lie between two readings, at least. */
double gpu_source_period(const struct gpu_source *source);
/* The devices as they are now. May block: for milliseconds mostly, for seconds when the driver is in trouble.
 */
int gpu_source_read(struct gpu_source *source, struct gpu_list *out, struct metron_error *error);
/* May block likewise. NULL is allowed. */
void gpu_source_close(struct gpu_source *source);

#endif
