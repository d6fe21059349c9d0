/* SPDX-License-Identifier: MIT */
/* gpu.c - lists of GPUs as text */

#include "worker/node/gpu.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

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

/* A number of at most GPUS_MAX - 1, and then the end character; -1 otherwise. */
static long parse_index(const char *text, char end, const char **after)
{
    char *stop;
    long index = strtol(text, &stop, 10);

    if (stop == text || *stop != end || index < 0 || index >= GPUS_MAX)
        return -1;
    *after = stop + 1;
    return index;
}

/* "INDEX UUID MODEL": the model may be missing, and has blanks in it. */
static int parse_gpu(struct gpu_list *l, const char *text, struct err *e)
{
    const char *rest;
    long index = parse_index(text, ' ', &rest);
    char *id, *uuid;

    if (index < 0 || (size_t)index != l->n || *rest == '\0' || *rest == ' ')
        return err_set(e, ERR_PROTOCOL, "GPUs: cannot read '%s'", text);
    id = mem_printf("%ld", index);
    uuid = mem_strndup(rest, strcspn(rest, " "));
    rest += strlen(uuid);
    gpu_list_add(l, id, uuid, rest + (*rest == ' '), false);
    free(id);
    free(uuid);
    return 0;
}

static int parse_busy(struct gpu_list *l, const char *text, struct err *e)
{
    const char *pid;
    long index = parse_index(text, ' ', &pid);

    if (index < 0 || (size_t)index >= l->n)
        return err_set(e, ERR_PROTOCOL, "GPUs: cannot read '%s'", text);
    l->gpus[index].is_busy = true;
    return 0;
}

static int parse_line(struct gpu_list *l, const char *line, struct err *e)
{
    if (strncmp(line, "gpu ", 4) == 0)
        return parse_gpu(l, line + 4, e);
    if (strncmp(line, "busy ", 5) == 0)
        return parse_busy(l, line + 5, e);
    return *line == '\0' ? 0 : err_set(e, ERR_PROTOCOL, "GPUs: cannot read '%s'", line);
}

int gpu_parse(const char *text, struct gpu_list *l, struct err *e)
{
    char *lines = mem_strdup(text);
    char *rest = lines;
    char *line;
    int rc = 0;

    *l = (struct gpu_list){ .n = 0 };
    while (rc == 0 && (line = strsep(&rest, "\n")) != NULL)
        rc = parse_line(l, line, e);
    free(lines);
    if (rc < 0)
        gpu_list_free(l);
    return rc;
}

static const struct gpu_info *find_named(const struct gpu_list *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->gpus[i].id, name) == 0 ||
            (strncmp(name, "GPU-", 4) == 0 && strncmp(l->gpus[i].uuid, name, strlen(name)) == 0))
            return &l->gpus[i];
    return NULL;
}

void gpu_list_restrict(struct gpu_list *l, const char *visible)
{
    struct gpu_list kept = { .n = 0 };
    char *names = mem_strdup(visible);
    char *rest = names;
    char *name;

    while ((name = strsep(&rest, ",")) != NULL && kept.n < l->n) {
        const struct gpu_info *found = find_named(l, name);

        if (found == NULL)
            break;
        gpu_list_add(&kept, name, found->uuid, found->model, found->is_busy);
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

static void add_busy_lines(const char *index, const char *uuid, const char *apps, struct buf *out)
{
    char *lines = mem_strdup(apps);
    char *rest = lines;
    char *line, *used, *pid;

    while ((line = strsep(&rest, "\n")) != NULL)
        if (split_pair(line, &used, &pid) && strcmp(used, uuid) == 0)
            buf_printf(out, "busy %s %s\n", index, pid);
    free(lines);
}

void gpu_lines_of_smi(const char *gpus, const char *apps, struct buf *out)
{
    char *lines = mem_strdup(gpus);
    char *rest = lines;
    char *line, *index, *more, *uuid, *model;

    while ((line = strsep(&rest, "\n")) != NULL) {
        if (!split_pair(line, &index, &more))
            continue;
        uuid = more;
        if (split_pair(more, &uuid, &model))
            buf_printf(out, "gpu %s %s %s\n", index, uuid, model);
        else
            buf_printf(out, "gpu %s %s\n", index, uuid);
        add_busy_lines(index, uuid, apps, out);
    }
    free(lines);
}
