/* SPDX-License-Identifier: MIT */
/* gpuask.c - ask NVML, else nvidia-smi, for GPUs and who uses them; in a child of the agent */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/io.h"
#include "worker/node/gpu.h"

/*
 * NVML is loaded when it is there, so these few prototypes stand in for its header.
 */
enum {
    NVML_SUCCESS = 0,
    NVML_INSUFFICIENT_SIZE = 7,
    UUID_BYTES = 96,
    NAME_BYTES = 96,
    PROCESSES_MAX = 64
};

struct nvml_device;

struct nvml_process {
    unsigned pid;
    unsigned long long used_memory;
    unsigned gpu_instance, compute_instance;
};

struct nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *n);
    int (*device)(unsigned index, struct nvml_device **device);
    int (*uuid)(struct nvml_device *device, char *text, unsigned bytes);
    int (*name)(struct nvml_device *device, char *text, unsigned bytes);
    int (*processes)(struct nvml_device *device, unsigned *n, struct nvml_process *list);
};

static bool find_function(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);

    *(void **)function = found;
    return found != NULL;
}

static bool nvml_open(struct nvml *n)
{
    n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (n->library == NULL)
        return false;
    return find_function(n->library, "nvmlInit_v2", &n->init) &&
           find_function(n->library, "nvmlShutdown", &n->shutdown) &&
           find_function(n->library, "nvmlDeviceGetCount_v2", &n->count) &&
           find_function(n->library, "nvmlDeviceGetHandleByIndex_v2", &n->device) &&
           find_function(n->library, "nvmlDeviceGetUUID", &n->uuid) &&
           find_function(n->library, "nvmlDeviceGetName", &n->name) &&
           find_function(n->library, "nvmlDeviceGetComputeRunningProcesses_v3", &n->processes) &&
           n->init() == NVML_SUCCESS;
}

static bool nvml_add_busy(const struct nvml *n, struct nvml_device *device, unsigned index,
                          struct buf *out)
{
    struct nvml_process list[PROCESSES_MAX];
    unsigned n_list = PROCESSES_MAX;
    int rc = n->processes(device, &n_list, list);

    if (rc == NVML_INSUFFICIENT_SIZE)
        buf_printf(out, "busy %u 0\n", index);
    else if (rc == NVML_SUCCESS && n_list > 0)
        buf_printf(out, "busy %u %u\n", index, list[0].pid);
    return rc == NVML_INSUFFICIENT_SIZE || rc == NVML_SUCCESS;
}

static bool nvml_add_device(const struct nvml *n, unsigned index, struct buf *out)
{
    struct nvml_device *device;
    char uuid[UUID_BYTES], name[NAME_BYTES] = "";

    if (n->device(index, &device) != NVML_SUCCESS ||
        n->uuid(device, uuid, sizeof uuid) != NVML_SUCCESS)
        return false;
    (void)n->name(device, name, sizeof name);
    buf_printf(out, "gpu %u %s %s\n", index, uuid, name);
    return nvml_add_busy(n, device, index, out);
}

static bool ask_nvml(struct buf *out)
{
    struct nvml n = { .library = NULL };
    unsigned count = 0;
    bool well;

    if (!nvml_open(&n))
        return false;
    well = n.count(&count) == NVML_SUCCESS && count <= GPUS_MAX;
    for (unsigned i = 0; well && i < count; i++)
        well = nvml_add_device(&n, i, out);
    n.shutdown();
    if (!well)
        buf_clear(out);
    return well;
}

static bool run(const char *command, struct buf *out)
{
    FILE *pipe = popen(command, "re"); /* a constant command line */
    char part[4096];
    size_t n;

    if (pipe == NULL)
        return false;
    while ((n = fread(part, 1, sizeof part, pipe)) > 0)
        buf_add(out, part, n);
    return pclose(pipe) == 0;
}

static void ask_smi(struct buf *out)
{
    struct buf gpus = { 0 }, apps = { 0 };

    if (run("exec nvidia-smi --query-gpu=index,uuid,name --format=csv,noheader 2>/dev/null",
            &gpus) &&
        run("exec nvidia-smi --query-compute-apps=gpu_uuid,pid --format=csv,noheader 2>/dev/null",
            &apps))
        gpu_lines_of_smi(buf_text(&gpus), buf_text(&apps), out);
    buf_free(&gpus);
    buf_free(&apps);
}

int gpu_print(void)
{
    struct buf out = { 0 };
    int rc;

    if (!ask_nvml(&out))
        ask_smi(&out);
    rc = io_write_all(STDOUT_FILENO, out.bytes, out.n);
    buf_free(&out);
    return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
