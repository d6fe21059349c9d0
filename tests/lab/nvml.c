/* SPDX-License-Identifier: MIT */
/* nvml.c - a libnvidia-ml.so.1 for tests, whose GPUs a file describes */
/*
 * Copied to libnvidia-ml.so.1 and found by LD_LIBRARY_PATH, it has the functions that
 * worker/node/gpu.c calls.  The file that $NVML_GPUS names has a line for each GPU:
 *
 *   UUID RESULT PERCENT USED_MIB ALL_MIB ACTION BROKEN [PID MIB]...
 *
 * RESULT is what each function about the GPU returns (0: success, 15: the GPU is lost).  PERCENT,
 * how busy the GPU is, and ALL_MIB may be -1: not supported.  ACTION is what the GPU needs
 * (0: nothing, 1: a reset, 2: a reboot, -1: not supported).  BROKEN is 1 if rows of its memory
 * could not be remapped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, GPUS = 16, PROCESSES = 16, ACTION = 230 };

/* NOLINTBEGIN(readability-identifier-naming,misc-no-recursion): the library's names */

struct device {
    char uuid[96];
    int result, percent, action, is_broken;
    long long used_mib, all_mib;
    unsigned n_processes;
    struct {
        unsigned pid;
        long long mib;
    } processes[PROCESSES];
};

struct process {
    unsigned pid;
    unsigned long long used_memory;
    unsigned gpu_instance, compute_instance;
};

struct percent {
    unsigned gpu, memory;
};

struct memory {
    unsigned long long all, free, used;
};

struct field {
    unsigned field, scope;
    long long at, took;
    int type, result;
    union {
        unsigned number;
        double widest;
    } value;
};

static struct device devices[GPUS];
static unsigned n_devices;

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int result);
int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **d);
int nvmlDeviceGetUUID(struct device *d, char *text, unsigned bytes);
int nvmlDeviceGetName(struct device *d, char *text, unsigned bytes);
int nvmlDeviceGetComputeRunningProcesses_v3(struct device *d, unsigned *n, struct process *list);
int nvmlDeviceGetUtilizationRates(struct device *d, struct percent *percent);
int nvmlDeviceGetMemoryInfo(struct device *d, struct memory *memory);
int nvmlDeviceGetFieldValues(struct device *d, int n, struct field *fields);
int nvmlDeviceGetRemappedRows(struct device *d, unsigned *corrected, unsigned *uncorrected,
                              unsigned *is_pending, unsigned *has_failed);

int nvmlInit_v2(void)
{
    const char *path = getenv("NVML_GPUS");
    FILE *f = path == NULL ? NULL : fopen(path, "re");
    char line[4096];

    n_devices = 0;
    while (f != NULL && n_devices < GPUS && fgets(line, sizeof line, f) != NULL) {
        struct device *d = &devices[n_devices];
        const char *rest = line;
        int n = 0;

        memset(d, 0, sizeof *d);
        if (sscanf(line, "%95s %d %d %lld %lld %d %d%n", d->uuid, &d->result, &d->percent,
                   &d->used_mib, &d->all_mib, &d->action, &d->is_broken, &n) != 7)
            continue;
        for (rest += n; d->n_processes < PROCESSES &&
                        sscanf(rest, "%u %lld%n", &d->processes[d->n_processes].pid,
                               &d->processes[d->n_processes].mib, &n) == 2;
             rest += n)
            d->n_processes++;
        n_devices++;
    }
    if (f != NULL)
        fclose(f);
    return f == NULL ? 999 : SUCCESS;
}

int nvmlShutdown(void)
{
    return SUCCESS;
}

const char *nvmlErrorString(int result)
{
    return result == 15 ? "GPU is lost" : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = n_devices;
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **d)
{
    *d = &devices[index];
    return SUCCESS;
}

int nvmlDeviceGetUUID(struct device *d, char *text, unsigned bytes)
{
    (void)snprintf(text, bytes, "%s", d->uuid);
    return SUCCESS;
}

int nvmlDeviceGetName(struct device *d, char *text, unsigned bytes)
{
    (void)snprintf(text, bytes, "NVIDIA A40");
    return d->result;
}

int nvmlDeviceGetComputeRunningProcesses_v3(struct device *d, unsigned *n, struct process *list)
{
    *n = d->n_processes;
    for (unsigned i = 0; i < *n; i++)
        list[i] = (struct process){ .pid = d->processes[i].pid,
                                    .used_memory = (unsigned long long)d->processes[i].mib << 20 };
    return d->result;
}

int nvmlDeviceGetUtilizationRates(struct device *d, struct percent *percent)
{
    percent->gpu = (unsigned)d->percent;
    return d->percent < 0 ? NOT_SUPPORTED : d->result;
}

int nvmlDeviceGetMemoryInfo(struct device *d, struct memory *memory)
{
    memory->all = (unsigned long long)d->all_mib << 20;
    memory->used = (unsigned long long)d->used_mib << 20;
    memory->free = memory->all - memory->used;
    return d->all_mib < 0 ? NOT_SUPPORTED : d->result;
}

int nvmlDeviceGetFieldValues(struct device *d, int n, struct field *fields)
{
    for (int i = 0; i < n; i++) {
        fields[i].result = fields[i].field == ACTION && d->action >= 0 ? SUCCESS : NOT_SUPPORTED;
        fields[i].value.number = (unsigned)d->action;
    }
    return d->result;
}

int nvmlDeviceGetRemappedRows(struct device *d, unsigned *corrected, unsigned *uncorrected,
                              unsigned *is_pending, unsigned *has_failed)
{
    *corrected = *uncorrected = *is_pending = 0;
    *has_failed = (unsigned)d->is_broken;
    return d->result;
}

/* NOLINTEND(readability-identifier-naming,misc-no-recursion) */
