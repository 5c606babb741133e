/*
 * A library that says it is NVIDIA's (libnvidia-ml.so.1), for machines without a GPU and for answers that no
 * GPU gives at will.
 *
 * FAKE_NVML names a file, read anew at each call, so that a test can change its mind. A line of it:
 *
 *   FUNCTION RESULT [VALUE...]           nvmlDeviceGetCount_v2 0 2
 *   FUNCTION/DEVICE RESULT [VALUE...]    nvmlDeviceGetMemoryInfo_v2/0 0 USED TOTAL
 *   sleep FUNCTION[/DEVICE] SECONDS      the call first blocks for so long, or until the file changes
 *
 * A function without a line is not supported (3). With OLD_DRIVER defined, the functions of newer drivers are
 * not there.
 *
 * As far as a caller can see it keeps the real one's rules: nothing before an init; a structure must name its
 * version in the very words of the public header; and its end waits for a call under way.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, VERSION_MISMATCH = 25 };
enum { MEMORY_V2 = 0x2000028, TEMPERATURE_V1 = 0x100000c, FIRST_HANDLE = 0x1000 };

struct utilization {
    unsigned gpu, memory;
};
struct memory {
    unsigned long long total, free, used;
};
struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
struct temperature {
    unsigned version;
    int sensor, celsius;
};

static pthread_mutex_t under_way = PTHREAD_MUTEX_INITIALIZER;
static _Atomic unsigned begun, tried; /* inits that are in force, and all that were tried */

unsigned fake_nvml_begun(void);
unsigned fake_nvml_begun(void)
{
    return begun;
}

unsigned fake_nvml_tried(void);
unsigned fake_nvml_tried(void)
{
    return tried;
}

__attribute__((destructor)) static void end(void)
{
    (void)pthread_mutex_lock(&under_way);
    (void)pthread_mutex_unlock(&under_way);
}

static void block(double seconds, const char *path, FILE *file)
{
    const struct timespec slice = {.tv_nsec = 5000000};
    struct timespec now, begin;
    struct stat opened, current;

    if (clock_gettime(CLOCK_MONOTONIC, &begin) < 0 || fstat(fileno(file), &opened) < 0)
        abort();
    do {
        (void)nanosleep(&slice, NULL);
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 < seconds &&
             stat(path, &current) == 0 && current.st_ino == opened.st_ino &&
             current.st_mtim.tv_sec == opened.st_mtim.tv_sec &&
             current.st_mtim.tv_nsec == opened.st_mtim.tv_nsec);
}

/* What the file says of it; `device` -1: of none. */
static int look_up(const char *function, int device, unsigned long long values[2])
{
    const char *path = getenv("FAKE_NVML");
    char wanted[96], line[256], name[96];
    int result = NOT_SUPPORTED, found;
    double seconds = 0;
    FILE *file = path ? fopen(path, "re") : NULL;

    (void)snprintf(wanted, sizeof(wanted), device < 0 ? "%s" : "%s/%d", function, device);
    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "sleep %95s %lf", name, &seconds) == 2) {
            if (strcmp(name, wanted) == 0)
                block(seconds, path, file);
        } else if (sscanf(line, "%95s %d %llu %llu", name, &found, &values[0], &values[1]) >= 2 &&
                   strcmp(name, wanted) == 0) {
            result = found;
            break;
        }
    }
    if (file)
        (void)fclose(file);
    return result;
}

static int ask(const char *function, int device, unsigned long long values[2])
{
    if (begun == 0)
        return UNINITIALIZED;
    (void)pthread_mutex_lock(&under_way);
    int result = look_up(function, device, values);
    (void)pthread_mutex_unlock(&under_way);
    return result;
}

static int ask_device(const char *function, const void *handle, unsigned long long values[2])
{
    uintptr_t number = (uintptr_t)handle;

    values[0] = values[1] = 0;
    return number < FIRST_HANDLE ? INVALID_ARGUMENT : ask(function, (int)(number - FIRST_HANDLE), values);
}

static int init(const char *function)
{
    unsigned long long values[2];
    int result = look_up(function, -1, values);

    tried++;
    begun += result == SUCCESS;
    return result;
}

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    return init("nvmlInit_v2");
}

int nvmlShutdown(void);
int nvmlShutdown(void)
{
    if (begun == 0)
        return UNINITIALIZED;
    begun--;
    return SUCCESS;
}

const char *nvmlErrorString(int result);
const char *nvmlErrorString(int result)
{
    switch (result) {
    case NOT_SUPPORTED:
        return "Not Supported";
    case 9:
        return "Driver Not Loaded";
    case 15:
        return "GPU is lost";
    default:
        return "Unknown Error";
    }
}

int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetCount_v2(unsigned *count)
{
    unsigned long long values[2] = {0};
    int result = ask("nvmlDeviceGetCount_v2", -1, values);

    *count = (unsigned)values[0];
    return result;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle)
{
    unsigned long long values[2];
    int result = ask("nvmlDeviceGetHandleByIndex_v2", (int)index, values);

    *handle = (void *)((uintptr_t)FIRST_HANDLE + index);
    return result == NOT_SUPPORTED ? SUCCESS : result; /* it needs no line */
}

int nvmlDeviceGetUtilizationRates(void *handle, struct utilization *out);
int nvmlDeviceGetUtilizationRates(void *handle, struct utilization *out)
{
    unsigned long long values[2];
    int result = ask_device("nvmlDeviceGetUtilizationRates", handle, values);

    *out = (struct utilization){(unsigned)values[0], (unsigned)values[1]};
    return result;
}

int nvmlDeviceGetMemoryInfo(void *handle, struct memory *out);
int nvmlDeviceGetMemoryInfo(void *handle, struct memory *out)
{
    unsigned long long values[2];
    int result = ask_device("nvmlDeviceGetMemoryInfo", handle, values);

    *out = (struct memory){.total = values[1], .free = values[1] - values[0], .used = values[0]};
    return result;
}

int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned *celsius);
int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned *celsius)
{
    unsigned long long values[2];
    int result = ask_device("nvmlDeviceGetTemperature", handle, values);

    *celsius = (unsigned)values[0];
    return sensor == 0 ? result : INVALID_ARGUMENT;
}

int nvmlDeviceGetPowerUsage(void *handle, unsigned *milliwatts);
int nvmlDeviceGetPowerUsage(void *handle, unsigned *milliwatts)
{
    unsigned long long values[2];
    int result = ask_device("nvmlDeviceGetPowerUsage", handle, values);

    *milliwatts = (unsigned)values[0];
    return result;
}

#ifndef OLD_DRIVER
int nvmlDeviceGetTotalEnergyConsumption(void *handle, unsigned long long *millijoules);
int nvmlDeviceGetTotalEnergyConsumption(void *handle, unsigned long long *millijoules)
{
    unsigned long long values[2];
    int result = ask_device("nvmlDeviceGetTotalEnergyConsumption", handle, values);

    *millijoules = values[0];
    return result;
}

int nvmlInitWithFlags(unsigned flags);
int nvmlInitWithFlags(unsigned flags)
{
    return flags == 1 ? init("nvmlInitWithFlags") : INVALID_ARGUMENT;
}

int nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending);
int nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending)
{
    unsigned long long values[2];
    int result = ask_device("nvmlDeviceGetMigMode", handle, values);

    *current = (unsigned)values[0];
    *pending = (unsigned)values[1];
    return result;
}

int nvmlDeviceGetMemoryInfo_v2(void *handle, struct memory_v2 *out);
int nvmlDeviceGetMemoryInfo_v2(void *handle, struct memory_v2 *out)
{
    unsigned long long values[2];
    int result = ask_device("nvmlDeviceGetMemoryInfo_v2", handle, values);

    if (out->version != MEMORY_V2)
        return VERSION_MISMATCH;
    out->used = values[0];
    out->total = values[1];
    out->reserved = 600ULL << 20;
    out->free = out->total - out->used;
    return result;
}

int nvmlDeviceGetTemperatureV(void *handle, struct temperature *out);
int nvmlDeviceGetTemperatureV(void *handle, struct temperature *out)
{
    unsigned long long values[2];
    int result = ask_device("nvmlDeviceGetTemperatureV", handle, values);

    if (out->version != TEMPERATURE_V1 || out->sensor != 0)
        return VERSION_MISMATCH;
    out->celsius = (int)values[0];
    return result;
}
#endif
