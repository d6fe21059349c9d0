/* SPDX-License-Identifier: MIT */
/* gpu.c - asks which GPUs there are and who uses them, in a child, and reads the answer */

#include "worker/node/gpu.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/units.h"
#include "worker/node/node.h"

void gpu_list_free(struct gpu_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->gpus[i].id);
        free(l->gpus[i].uuid);
        free(l->gpus[i].model);
        free(l->gpus[i].trouble);
    }
    free(l->gpus);
    free(l->processes);
    *l = (struct gpu_list){ .n = 0 };
}

void gpu_list_add(struct gpu_list *l, const char *id, const char *uuid, const char *model,
                  bool is_busy)
{
    l->gpus = mem_resize(l->gpus, l->n + 1, sizeof *l->gpus);
    l->gpus[l->n++] = (struct gpu_info){ .id = mem_strdup(id),
                                         .uuid = mem_strdup(uuid),
                                         .model = mem_strdup(model),
                                         .is_busy = is_busy,
                                         .percent = -1,
                                         .used_bytes = -1,
                                         .memory_bytes = -1 };
}

enum { MIB = 1024 * 1024, GIB = 1024 * MIB };

/* Takes "PID MIB"; adds no process if the text has another form or -1. */
static void add_process(struct gpu_list *l, size_t gpu, const char *text)
{
    long long pid, used;

    if (sscanf(text, "%lld %lld", &pid, &used) != 2 || pid <= 0 || used < 0 ||
        used > INT64_MAX / MIB)
        return;
    l->processes = mem_resize(l->processes, l->n_processes + 1, sizeof *l->processes);
    l->processes[l->n_processes++] = (struct gpu_process){ gpu, pid, used * MIB };
}

/* Takes "PERCENT MIB MIB" */
static int parse_use(struct gpu_info *g, const char *text, struct err *e)
{
    long long percent, used, all;
    int n = 0;

    if (sscanf(text, "%lld %lld %lld%n", &percent, &used, &all, &n) != 3 || text[n] != '\0' ||
        percent > 100 || used > INT64_MAX / MIB || all > INT64_MAX / MIB)
        return err_set(e, ERR_PROTOCOL, "GPUs: cannot read '%s'", text);
    g->percent = percent < 0 ? -1 : percent;
    g->used_bytes = used < 0 ? -1 : used * MIB;
    g->memory_bytes = all < 0 ? -1 : all * MIB;
    return 0;
}

/* Takes a line of the child's answer.  A GPU's model may be missing or have blanks in it. */
static int parse_line(struct gpu_list *l, const char *line, struct err *e)
{
    static const char *const kinds[] = { "gpu ", "busy ", "use ", "trouble " };
    enum { GPU, BUSY, USE, TROUBLE, N_KINDS } kind = GPU;
    char *rest, *id, *uuid;
    const char *text;
    long index;

    if (*line == '\0')
        return 0;
    while (kind < N_KINDS && strncmp(line, kinds[kind], strlen(kinds[kind])) != 0)
        kind++;
    if (kind == N_KINDS)
        return err_set(e, ERR_PROTOCOL, "GPUs: cannot read '%s'", line);
    text = line + strlen(kinds[kind]);
    index = strtol(text, &rest, 10);
    if (rest == text || *rest++ != ' ' || index < 0 || index >= GPUS_MAX || *rest == '\0' ||
        *rest == ' ' || (kind == GPU ? (size_t)index != l->n : (size_t)index >= l->n))
        return err_set(e, ERR_PROTOCOL, "GPUs: cannot read '%s'", text);
    switch (kind) {
    case USE: return parse_use(&l->gpus[index], rest, e);
    case BUSY:
        l->gpus[index].is_busy = true;
        add_process(l, (size_t)index, rest);
        return 0;
    case TROUBLE:
        free(l->gpus[index].trouble);
        l->gpus[index].trouble = mem_strdup(rest);
        return 0;
    default: break;
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

/*
 * Whether so much memory is taken that an unseen process must have it, one that ended or one in a
 * container.  A driver or desktop keeps some; the bounds leave room for both, and are not measured.
 */
static bool is_memory_lost(const struct gpu_info *g)
{
    enum { KEPT_BYTES_GIB = 2, KEPT_PART = 10 };

    return g->memory_bytes > 0 && g->used_bytes > (int64_t)KEPT_BYTES_GIB * GIB &&
           g->used_bytes > g->memory_bytes / KEPT_PART;
}

bool gpu_add_reason(const struct gpu_list *l, size_t gpu, struct buf *reason)
{
    const struct gpu_info *g = &l->gpus[gpu];
    size_t k = 0;

    if (g->trouble != NULL) {
        buf_add_str(reason, g->trouble);
    } else if (g->is_busy) {
        while (k < l->n_processes && l->processes[k].gpu != gpu)
            k++;
        buf_add_str(reason, "another program computes on it");
        if (k < l->n_processes)
            buf_printf(reason, " (process %" PRId64 ")", l->processes[k].pid);
    } else if (is_memory_lost(g)) {
        units_add_size(reason, g->used_bytes);
        buf_add_str(reason,
                    " of its memory are taken, and its driver names no process that has them");
    }
    return reason->n > 0;
}

/* ---- nvidia-smi ---- */

/* Splits "FIRST, SECOND, ..." in place into at most n fields; returns how many it found. */
static size_t split(char *line, char **fields, size_t n)
{
    size_t found = 0;
    char *field;

    while (found < n && (field = strsep(&line, ",")) != NULL)
        fields[found++] = field + strspn(field, " \t");
    return found;
}

/* Returns the number; -1 for "[N/A]" and other words. */
static long long number_of(const char *text)
{
    char *end;
    long long number = strtoll(text, &end, 10);

    return end == text || number < 0 ? -1 : number;
}

void gpu_lines_of_smi(const char *gpus, const char *apps, struct buf *out)
{
    enum { INDEX, UUID, MODEL, PERCENT, USED, ALL, N_FIELDS };
    char *lines = mem_strdup(gpus), *rest = lines, *line, *f[N_FIELDS], *user[3];

    while ((line = strsep(&rest, "\n")) != NULL) {
        char *users = mem_strdup(apps), *more = users, *app;
        size_t n = split(line, f, N_FIELDS), n_user;

        if (n >= 2)
            buf_printf(out, "gpu %s %s%s%s\n", f[INDEX], f[UUID], n > MODEL ? " " : "",
                       n > MODEL ? f[MODEL] : "");
        while (n >= 2 && (app = strsep(&more, "\n")) != NULL)
            if ((n_user = split(app, user, 3)) >= 2 && strcmp(user[0], f[UUID]) == 0) {
                buf_printf(out, "busy %s %s", f[INDEX], user[1]);
                if (n_user > 2)
                    buf_printf(out, " %lld", number_of(user[2]));
                buf_add_char(out, '\n');
            }
        if (n == N_FIELDS)
            buf_printf(out, "use %s %lld %lld %lld\n", f[INDEX], number_of(f[PERCENT]),
                       number_of(f[USED]), number_of(f[ALL]));
        free(users);
    }
    free(lines);
}

/*
 * NVML is loaded at run time, where it is installed: these declarations stand in for its header.
 */
enum {
    NVML_SUCCESS = 0,
    NVML_NOT_SUPPORTED = 3,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_RECOVERY_ACTION = 230, /* the field that says what mends the GPU, from driver 565 on */
    NVML_RESET = 1,
    NVML_REBOOT = 2,
    NVML_DRAIN_AND_RESET = 4,
    UUID_BYTES = 96,
    NAME_BYTES = 96,
    PROCESSES_MAX = 64
};

static const unsigned long long NVML_NOT_SAID = ~0ULL;

struct nvml_device;

struct nvml_process {
    unsigned pid;
    unsigned long long used_memory;
    unsigned gpu_instance, compute_instance;
};

struct nvml_percent {
    unsigned gpu, memory;
};

struct nvml_memory {
    unsigned long long all, free, used; /* bytes */
};

struct nvml_field {
    unsigned field, scope;
    long long at, took;
    int type, result;
    union {
        unsigned number;
        double widest;
    } value;
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
    int (*percent)(struct nvml_device *device, struct nvml_percent *percent);
    int (*memory)(struct nvml_device *device, struct nvml_memory *memory);
    /* These three are NULL where the driver is too old. */
    int (*fields)(struct nvml_device *device, int n, struct nvml_field *fields);
    int (*remapped_rows)(struct nvml_device *device, unsigned *corrected, unsigned *uncorrected,
                         unsigned *is_pending, unsigned *has_failed);
    const char *(*words)(int result);
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
                   { "nvmlDeviceGetComputeRunningProcesses_v3", &n->processes },
                   { "nvmlDeviceGetUtilizationRates", &n->percent },
                   { "nvmlDeviceGetMemoryInfo", &n->memory },
                   { "nvmlDeviceGetFieldValues", &n->fields },
                   { "nvmlDeviceGetRemappedRows", &n->remapped_rows },
                   { "nvmlErrorString", &n->words } };
    enum { N_NEEDED = 9 };

    n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (n->library == NULL)
        return false;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        void *found = dlsym(n->library, wanted[i].name);

        if (found == NULL && i < N_NEEDED)
            return false;
        *(void **)wanted[i].function = found;
    }
    return n->init() == NVML_SUCCESS;
}

/* Adds the line "use"; a part of a device (MIG) has no percentage. */
static void nvml_add_use(const struct nvml *n, unsigned index, struct nvml_device *device,
                         struct buf *out)
{
    enum { MIB_BITS = 20 };
    struct nvml_percent percent;
    struct nvml_memory memory;
    bool has_percent = n->percent(device, &percent) == NVML_SUCCESS;
    bool has_memory = n->memory(device, &memory) == NVML_SUCCESS;

    buf_printf(out, "use %u %lld %lld %lld\n", index, has_percent ? (long long)percent.gpu : -1,
               has_memory ? (long long)(memory.used >> MIB_BITS) : -1,
               has_memory ? (long long)(memory.all >> MIB_BITS) : -1);
}

/* Adds a line "trouble" for a GPU that needs a reset; a fault of a program needs none. */
static void nvml_add_health(const struct nvml *n, unsigned index, struct nvml_device *device,
                            struct buf *out)
{
    struct nvml_field action = { .field = NVML_RECOVERY_ACTION };
    unsigned corrected, uncorrected, is_pending, has_failed;

    if (n->fields != NULL && n->fields(device, 1, &action) == NVML_SUCCESS &&
        action.result == NVML_SUCCESS && action.value.number == NVML_REBOOT)
        buf_printf(out, "trouble %u its driver says that the machine must be rebooted\n", index);
    else if (n->fields != NULL && action.result == NVML_SUCCESS &&
             (action.value.number == NVML_RESET || action.value.number == NVML_DRAIN_AND_RESET))
        buf_printf(out, "trouble %u its driver says that it must be reset (nvidia-smi -r -i %u)\n",
                   index, index);
    else if (n->remapped_rows != NULL &&
             n->remapped_rows(device, &corrected, &uncorrected, &is_pending, &has_failed) ==
                 NVML_SUCCESS &&
             has_failed != 0)
        buf_printf(out, "trouble %u its memory is broken, and the driver cannot work around it\n",
                   index);
}

/* Adds all lines of a device.  One that the driver cannot reach keeps its index, with a line
 * "trouble". */
static void nvml_add_device(const struct nvml *n, unsigned index, struct buf *out)
{
    struct nvml_device *device;
    struct nvml_process list[PROCESSES_MAX];
    char uuid[UUID_BYTES], name[NAME_BYTES] = "";
    unsigned n_list = PROCESSES_MAX;
    int rc = n->device(index, &device);

    if (rc == NVML_SUCCESS)
        rc = n->uuid(device, uuid, sizeof uuid);
    if (rc == NVML_SUCCESS)
        (void)n->name(device, name, sizeof name);
    else
        (void)snprintf(uuid, sizeof uuid, "unknown-%u", index);
    buf_printf(out, "gpu %u %s %s\n", index, uuid, name);
    if (rc == NVML_SUCCESS)
        rc = n->processes(device, &n_list, list);
    if (rc != NVML_SUCCESS && rc != NVML_INSUFFICIENT_SIZE && rc != NVML_NOT_SUPPORTED) {
        buf_printf(out, "trouble %u its driver cannot reach it: %s (%d)\n", index,
                   n->words == NULL ? "error" : n->words(rc), rc);
        return;
    }
    if (rc == NVML_INSUFFICIENT_SIZE)
        buf_printf(out, "busy %u 0\n", index);
    for (unsigned i = 0; rc == NVML_SUCCESS && i < n_list; i++)
        buf_printf(out, "busy %u %u %lld\n", index, list[i].pid,
                   list[i].used_memory == NVML_NOT_SAID ? -1
                                                        : (long long)(list[i].used_memory / MIB));
    nvml_add_use(n, index, device, out);
    nvml_add_health(n, index, device, out);
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
        nvml_add_device(&n, i, out);
    n.shutdown();
    return well;
}

void gpu_ask(struct buf *lines)
{
    struct buf gpus = { 0 }, apps = { 0 };

    if (!ask_nvml(lines) &&
        node_ask("exec nvidia-smi --query-gpu=index,uuid,name,utilization.gpu,memory.used,"
                 "memory.total --format=csv,noheader,nounits 2>/dev/null",
                 &gpus) &&
        node_ask("exec nvidia-smi --query-compute-apps=gpu_uuid,pid,used_memory "
                 "--format=csv,noheader,nounits 2>/dev/null",
                 &apps))
        gpu_lines_of_smi(buf_text(&gpus), buf_text(&apps), lines);
    buf_free(&gpus);
    buf_free(&apps);
}
