/* The program nvidia-smi, run once for a reading of all GPUs, and what it prints. */
#ifndef METRON_PROBE_GPU_NVIDIA_SMI_H
#define METRON_PROBE_GPU_NVIDIA_SMI_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "probe/gpu/gpu.h"
#include "probe/program_output.h"

struct nvidia_smi {
    char path[PROGRAM_PATH_SIZE];
    pid_t left_behind; /* one that not even SIGKILL ended at once, and was not waited for yet; 0: none */
    struct strbuf output;
};

/* In the absolute folders of PATH. 0 or -ENOENT. */
int nvidia_smi_find(struct nvidia_smi *program);
void nvidia_smi_fini(struct nvidia_smi *program);
/* -ETIME: killed for being late; -EBUSY: an earlier one is still there; -EIO: it failed, with its own words.
 */
int nvidia_smi_run(struct nvidia_smi *program, struct gpu_list *out, struct metron_error *error);

/* One line of it, without the newline. 0 or -EBADMSG. */
int nvidia_smi_line_parse(const char *line, size_t length, struct gpu_device *out);
/* All it printed: lines that are no device are passed over, unless there are no others. 0 or -EIO, with the
 * first of them as the reason. */
int nvidia_smi_parse(const char *text, size_t length, struct gpu_list *out, struct metron_error *error);

#endif
