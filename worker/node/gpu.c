/* SPDX-License-Identifier: MIT */
/* gpu.c - asks which GPUs there are and who uses them, in a child, and reads the answer */

#include "worker/node/gpu.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "worker/node/node.h"

void gpu_list_free(struct gpu_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->gpus[i].id);
        free(l->gpus[i].uuid);
        free(l->gpus[i].model);
    }
    free(l->gpus);
    *l = (struct gpu_list){ .n = 0 };
}

void gpu_list_add(struct gpu_list *l, const char *id, const char *uuid, const char *model,
                  bool is_busy)
{
    l->gpus = mem_resize(l->gpus, l->n + 1, sizeof *l->gpus);
    l->gpus[l->n++] =
        (struct gpu_info){ mem_strdup(id), mem_strdup(uuid), mem_strdup(model), is_busy };
}

/* "gpu INDEX UUID MODEL" or "busy INDEX PID": the model may be missing, and has blanks in it. */
static int parse_line(struct gpu_list *l, const char *line, struct err *e)
{
    bool is_gpu = strncmp(line, "gpu ", 4) == 0;
    const char *text = line + (is_gpu ? 4 : 5);
    char *rest, *id, *uuid;
    long index;

    if (*line == '\0')
        return 0;
    if (!is_gpu && strncmp(line, "busy ", 5) != 0)
        return err_set(e, ERR_PROTOCOL, "GPUs: cannot read '%s'", line);
    index = strtol(text, &rest, 10);
    if (rest == text || *rest++ != ' ' || index < 0 || index >= GPUS_MAX ||
        (is_gpu ? (size_t)index != l->n || *rest == '\0' || *rest == ' ' : (size_t)index >= l->n))
        return err_set(e, ERR_PROTOCOL, "GPUs: cannot read '%s'", text);
    if (!is_gpu) {
        l->gpus[index].is_busy = true;
        return 0;
    }
    id = mem_printf("%ld", index);
    uuid = mem_strndup(rest, strcspn(rest, " "));
    rest += strlen(uuid);
    gpu_list_add(l, id, uuid, rest + (*rest == ' '), false);
    free(id);
    free(uuid);
    return 0;
}

int gpu_parse(const char *text, struct gpu_list *l, struct err *e)
{
    char *lines = mem_strdup(text), *rest = lines, *line;
    int rc = 0;

    *l = (struct gpu_list){ .n = 0 };
    while (rc == 0 && (line = strsep(&rest, "\n")) != NULL)
        rc = parse_line(l, line, e);
    free(lines);
    if (rc < 0)
        gpu_list_free(l);
    return rc;
}

void gpu_list_restrict(struct gpu_list *l, const char *visible)
{
    struct gpu_list kept = { .n = 0 };
    char *names = mem_strdup(visible), *rest = names, *name;

    while ((name = strsep(&rest, ",")) != NULL && kept.n < l->n) {
        size_t i = 0;

        while (i < l->n && strcmp(l->gpus[i].id, name) != 0 &&
               (strncmp(name, "GPU-", 4) != 0 || strncmp(l->gpus[i].uuid, name, strlen(name)) != 0))
            i++;
        if (i == l->n)
            break;
        gpu_list_add(&kept, name, l->gpus[i].uuid, l->gpus[i].model, l->gpus[i].is_busy);
    }
    free(names);
    gpu_list_free(l);
    *l = kept;
}

/* ---- nvidia-smi ---- */

/* Splits "FIRST, SECOND" in place. */
static bool split_pair(char *line, char **first, char **second)
{
    char *comma = strchr(line, ',');

    if (comma == NULL)
        return false;
    *comma++ = '\0';
    while (isspace((unsigned char)*comma))
        comma++;
    *first = line;
    *second = comma;
    return true;
}

void gpu_lines_of_smi(const char *gpus, const char *apps, struct buf *out)
{
    char *lines = mem_strdup(gpus), *rest = lines, *line, *index, *uuid, *model;

    while ((line = strsep(&rest, "\n")) != NULL) {
        char *users = mem_strdup(apps), *more = users, *app, *used, *pid;

        if (split_pair(line, &index, &uuid)) {
            if (split_pair(uuid, &uuid, &model))
                buf_printf(out, "gpu %s %s %s\n", index, uuid, model);
            else
                buf_printf(out, "gpu %s %s\n", index, uuid);
            while ((app = strsep(&more, "\n")) != NULL)
                if (split_pair(app, &used, &pid) && strcmp(used, uuid) == 0)
                    buf_printf(out, "busy %s %s\n", index, pid);
        }
        free(users);
    }
    free(lines);
}

/*
 * NVML is loaded at run time, where it is installed: these declarations stand in for its header.
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

static bool nvml_open(struct nvml *n)
{
    const struct {
        const char *name;
        void *function;
    } wanted[] = { { "nvmlInit_v2", &n->init },
                   { "nvmlShutdown", &n->shutdown },
                   { "nvmlDeviceGetCount_v2", &n->count },
                   { "nvmlDeviceGetHandleByIndex_v2", &n->device },
                   { "nvmlDeviceGetUUID", &n->uuid },
                   { "nvmlDeviceGetName", &n->name },
                   { "nvmlDeviceGetComputeRunningProcesses_v3", &n->processes } };

    n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (n->library == NULL)
        return false;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *found = dlsym(n->library, wanted[i].name);

        if (found == NULL)
            return false;
        *(void **)wanted[i].function = found;
    }
    return n->init() == NVML_SUCCESS;
}

/* Adds the device's line, and one for a process that computes there. */
static bool nvml_add_device(const struct nvml *n, unsigned index, struct buf *out)
{
    struct nvml_device *device;
    struct nvml_process list[PROCESSES_MAX];
    char uuid[UUID_BYTES], name[NAME_BYTES] = "";
    unsigned n_list = PROCESSES_MAX;
    int rc;

    if (n->device(index, &device) != NVML_SUCCESS ||
        n->uuid(device, uuid, sizeof uuid) != NVML_SUCCESS)
        return false;
    (void)n->name(device, name, sizeof name);
    buf_printf(out, "gpu %u %s %s\n", index, uuid, name);
    rc = n->processes(device, &n_list, list);
    if (rc == NVML_INSUFFICIENT_SIZE)
        buf_printf(out, "busy %u 0\n", index);
    else if (rc == NVML_SUCCESS && n_list > 0)
        buf_printf(out, "busy %u %u\n", index, list[0].pid);
    return rc == NVML_INSUFFICIENT_SIZE || rc == NVML_SUCCESS;
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

void gpu_ask(struct buf *lines)
{
    struct buf gpus = { 0 }, apps = { 0 };

    if (!ask_nvml(lines) &&
        node_ask("exec nvidia-smi --query-gpu=index,uuid,name --format=csv,noheader 2>/dev/null",
                 &gpus) &&
        node_ask("exec nvidia-smi --query-compute-apps=gpu_uuid,pid --format=csv,noheader "
                 "2>/dev/null",
                 &apps))
        gpu_lines_of_smi(buf_text(&gpus), buf_text(&apps), lines);
    buf_free(&gpus);
    buf_free(&apps);
}
