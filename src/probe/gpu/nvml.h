/* NVIDIA's management library, loaded when asked for: no header and no library of theirs is needed to build.
 */
#ifndef METRON_PROBE_GPU_NVML_H
#define METRON_PROBE_GPU_NVML_H

#include "base/error.h"
#include "probe/gpu/gpu.h"

#define NVML_LIBRARY "libnvidia-ml.so.1"

struct nvml;

/* Loads it, and does not ask the driver. -ENOENT: it cannot be loaded; -ENOSYS: it is too old. */
int nvml_open(struct nvml **out, struct metron_error *error);
/* -EIO: the driver does not answer; after that it is asked again only half a minute later. */
int nvml_read(struct nvml *nvml, uint64_t wanted, struct gpu_list *out, struct metron_error *error);
void nvml_close(struct nvml *nvml);

#endif
