/* SPDX-License-Identifier: MIT */
/* slurmjob.c - the resources that Slurm has given to the Slurm job in which we run */

#include "worker/node/slurmjob.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/io.h"
#include "common/base/mem.h"
#include "worker/node/gpu.h"
#include "worker/node/node.h"

enum { MIB = 1024 * 1024 };

static bool is_number(const char *text)
{
    size_t n = strspn(text, "0123456789");

    return n > 0 && n < 10 && text[n] == '\0';
}

/* Returns the number with which the variable begins, as in "16(x2)"; 0: there is none. */
static int64_t number_of(slurm_get_fn get, const char *name)
{
    const char *text = get(name);
    long long number = text == NULL ? 0 : strtoll(text, NULL, 10);

    return number > 0 && number < INT64_MAX / MIB ? number : 0;
}

static void add_gpu(struct slurm_job *j, const char *id, size_t n)
{
    if (n == 0 || j->n_gpus == GPUS_MAX)
        return;
    if (j->gpus == NULL)
        j->gpus = mem_alloc(GPUS_MAX * sizeof *j->gpus);
    j->gpus[j->n_gpus++] = mem_strndup(id, n);
}

const char *slurm_job_env(const char *name)
{
    return getenv(name);
}

/* Ignores a user's own CUDA_VISIBLE_DEVICES: only jobs with GPUs have Slurm's variables, too. */
static void read_gpus(struct slurm_job *j, slurm_get_fn get)
{
    int64_t n = number_of(get, "SLURM_GPUS_ON_NODE");
    const char *given = get("SLURM_JOB_GPUS"), *visible = get("CUDA_VISIBLE_DEVICES");
    const char *list = visible != NULL && *visible != '\0' ? visible : given;

    if (n == 0 && given == NULL)
        return;
    if (list != NULL && *list != '\0') {
        for (size_t k; *list != '\0'; list += k + (list[k] == ',')) {
            k = strcspn(list, ",");
            add_gpu(j, list, k);
        }
        return;
    }
    for (int64_t i = 0; i < n && i < GPUS_MAX; i++) {
        char *id = mem_printf("%lld", (long long)i);

        add_gpu(j, id, strlen(id));
        free(id);
    }
}

void slurm_job_read(struct slurm_job *j, slurm_get_fn get)
{
    const char *id = get("SLURM_JOB_ID"), *node = get("SLURMD_NODENAME");
    const char *array = get("SLURM_ARRAY_JOB_ID"), *element = get("SLURM_ARRAY_TASK_ID");
    int64_t mib;

    *j = (struct slurm_job){ .id = NULL };
    if (array != NULL && element != NULL && is_number(array) && is_number(element))
        j->id = mem_printf("%s_%s", array, element);
    else if (id != NULL && is_number(id))
        j->id = mem_strdup(id);
    j->node = node == NULL || *node == '\0' ? NULL : mem_strdup(node);
    j->cpus = number_of(get, "SLURM_CPUS_ON_NODE");
    if (j->cpus == 0)
        j->cpus = number_of(get, "SLURM_JOB_CPUS_PER_NODE");
    read_gpus(j, get);
    mib = number_of(get, "SLURM_MEM_PER_NODE");
    if (mib == 0)
        mib = number_of(get, "SLURM_MEM_PER_CPU") * j->cpus;
    if (mib == 0)
        mib = number_of(get, "SLURM_MEM_PER_GPU") * (int64_t)j->n_gpus;
    j->memory_bytes = mib * MIB;
    j->ends_at_ms = number_of(get, "SLURM_JOB_END_TIME") * 1000;
}

void slurm_job_free(struct slurm_job *j)
{
    for (size_t i = 0; i < j->n_gpus; i++)
        free(j->gpus[i]);
    free(j->gpus);
    free(j->id);
    free(j->node);
    *j = (struct slurm_job){ .id = NULL };
}

/* ---- whether it is being ended ---- */

bool slurm_job_is_ended(slurm_get_fn get, int output)
{
    enum { LAST_BYTES = 4096 }; /* a prolog may have written there, too */
    char text[LAST_BYTES + 1], *path;
    struct stat st;
    ssize_t n = 0;
    int fd;

    if (get("SLURM_RESTART_COUNT") != NULL || fstat(output, &st) < 0 || !S_ISREG(st.st_mode) ||
        st.st_size == 0)
        return false;
    path = mem_printf("/proc/self/fd/%d", output); /* output is open for writing only */
    fd = open(path, O_RDONLY | O_CLOEXEC);
    free(path);
    if (fd < 0)
        return false;
    n = io_read_all_at(fd, text, LAST_BYTES,
                       st.st_size > LAST_BYTES ? (uint64_t)(st.st_size - LAST_BYTES) : 0);
    (void)close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    return strstr(text, "*** JOB ") != NULL && strstr(text, " CANCELLED AT ") != NULL;
}

/* ---- the end of its time ---- */

/* One part in LOST_PARTS of a pilot's time may be lost to save the question to Slurm. */
enum { LOST_PARTS = 50 };

int64_t slurm_job_soonest_end(int64_t submitted_at_ms, int64_t time_ms, int64_t now_ms)
{
    int64_t waited_ms = now_ms - submitted_at_ms;

    if (submitted_at_ms == 0 || time_ms == 0 || waited_ms < 0 || waited_ms > time_ms / LOST_PARTS)
        return 0;
    return submitted_at_ms + time_ms;
}

int64_t slurm_job_parse_end(const char *text)
{
    static const char key[] = " EndTime=";
    const char *at = strstr(text, key);
    struct tm t = { .tm_isdst = -1 };
    time_t end;

    if (at == NULL || strptime(at + sizeof key - 1, "%Y-%m-%dT%H:%M:%S", &t) == NULL)
        return 0;
    end = mktime(&t);
    return end > 0 ? (int64_t)end * 1000 : 0;
}

void slurm_job_ask_end(struct slurm_job *j)
{
    struct buf text = { 0 };
    char *command;

    if (j->id == NULL || j->ends_at_ms != 0)
        return;
    command = mem_printf("exec timeout -k 1 20 scontrol --local -o show job %s 2>/dev/null", j->id);
    if (node_ask(command, &text)) /* the id has only digits and '_' */
        j->ends_at_ms = slurm_job_parse_end(buf_text(&text));
    free(command);
    buf_free(&text);
}
