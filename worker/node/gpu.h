/* SPDX-License-Identifier: MIT */
/*
 * gpu.h - the machine's GPUs, and which of them are in use
 *
 * A driver may answer after seconds or never, so a child asks it (gpu_ask); the agent reads the
 * lines of the child's answer (gpu_parse).  The first number is the GPU's index:
 *
 *   gpu 0 GPU-5f2a... NVIDIA A40   a line for each GPU, in the order of PCI bus ids: UUID, model
 *   busy 0 4711 512                a process computes on the GPU: its pid (0: not known), and how
 *                                  many MiB of the GPU's memory it has (-1 or missing: not known)
 *   use 0 87 1024 46068            percent of the time that the GPU is busy, MiB of its memory that
 *                                  are taken, MiB of all its memory; -1: the driver does not say
 *   trouble 0 GPU is lost          the GPU does not work, in the driver's words
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
    char *model; /* "": not known */
    bool is_busy;
    char *trouble; /* NULL, or why it does not work, in its driver's words; in the agent's list of
                      GPUs that it offers: why no job may begin on it now */
    int64_t percent, used_bytes, memory_bytes; /* -1: not known */
};

/* A process that computes on a GPU; one that uses two GPUs is listed twice. */
struct gpu_process {
    size_t gpu; /* index in gpus */
    int64_t pid, used_bytes;
};

struct gpu_list {
    struct gpu_info *gpus;
    size_t n;
    struct gpu_process *processes; /* those whose GPU memory is known */
    size_t n_processes;
};

/* Asks NVML, else nvidia-smi, and adds the lines; adds none if the machine has neither. */
void gpu_ask(struct buf *lines);

/* Reads the lines of text into *l, which gpu_list_free frees; ERR_PROTOCOL: one is malformed. */
int gpu_parse(const char *text, struct gpu_list *l, struct err *e);
void gpu_list_free(struct gpu_list *l);

/* Keeps only the GPUs that visible names (a CUDA_VISIBLE_DEVICES: indices or UUIDs), under these
 * names and in this order, up to the first name of no GPU, as CUDA does. */
void gpu_list_restrict(struct gpu_list *l, const char *visible);

/* Appends a GPU to the list. */
void gpu_list_add(struct gpu_list *l, const char *id, const char *uuid, const char *model,
                  bool is_busy);

/* Adds to reason, which is empty, why no job should begin on a GPU that no job of ours has; false:
 * one may begin. */
bool gpu_add_reason(const struct gpu_list *l, size_t gpu, struct buf *reason);

/* Translates nvidia-smi's two answers to the lines above.  gpus: index, uuid, name, percent, MiB
 * used, MiB in all; apps: uuid, pid, MiB. */
void gpu_lines_of_smi(const char *gpus, const char *apps, struct buf *out);

#endif
