/* SPDX-License-Identifier: MIT */
/*
 * gpu.h - the machine's GPUs, and which of them are in use
 *
 * Asking a driver may take seconds or hang, so a child asks (gpu_ask);
 * the agent reads the lines of its answer (gpu_parse):
 *
 *   gpu 0 GPU-5f2a... NVIDIA A40   one line for each, in order of its PCI bus id; its model last
 *   busy 0 4711                    a process computes there (its pid, or 0, is for logs)
 *
 * Indices are those of CUDA_DEVICE_ORDER=PCI_BUS_ID.
 */
#ifndef LUDWIG_WORKER_NODE_GPU_H
#define LUDWIG_WORKER_NODE_GPU_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/buf.h"
#include "common/base/err.h"

enum { GPUS_MAX = 256 };

struct gpu_info {
    char *id; /* its name in CUDA_VISIBLE_DEVICES */
    char *uuid;
    char *model; /* "" where it is not told */
    bool is_busy;
};

struct gpu_list {
    struct gpu_info *gpus;
    size_t n;
};

/* Asks NVML, else nvidia-smi; adds nothing when neither is there. */
void gpu_ask(struct buf *lines);

int gpu_parse(const char *text, struct gpu_list *l, struct err *e);
void gpu_list_free(struct gpu_list *l);

/* Keeps the GPUs that visible (a CUDA_VISIBLE_DEVICES: indices or UUIDs) names, under these names
 * and in this order; up to the first it does not know, as CUDA does. */
void gpu_list_restrict(struct gpu_list *l, const char *visible);

/* Appends a GPU to the list. */
void gpu_list_add(struct gpu_list *l, const char *id, const char *uuid, const char *model,
                  bool is_busy);

/* Our lines for nvidia-smi's two answers (index, uuid, name; uuid, pid). */
void gpu_lines_of_smi(const char *gpus, const char *apps, struct buf *out);

#endif
