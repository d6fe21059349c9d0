/* SPDX-License-Identifier: MIT */
/* sftplink.c - opens SFTP connections to ludwigd's machine for a child of the agent */

#include "worker/share/sftplink.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/units.h"
#include "common/connect/mux.h"
#include "worker/base/child_start.h"
#include "worker/node/unix_socket.h"

/* After a refusal: servers shut out an address that is refused again and again. */
#define REFUSED_PAUSE_MS 60000

struct sftplink {
    char *address;
    pthread_mutex_t lock; /* for all members that follow */
    struct mux *mux;      /* NULL: no session */
    size_t n_users;       /* connections in use */
    struct err why;       /* the last failure */
    int64_t pause_ms;     /* after the last failure; 0: there was none */
    int64_t not_before_ms;
};

/* Nobody waits for a session's process: it ends when it has passed on what was written. */
struct sftplink *sftplink_create(const char *address)
{
    struct sftplink *l = mem_alloc(sizeof *l);

    l->address = mem_strdup(address);
    pthread_mutex_init(&l->lock, NULL);
    signal(SIGCHLD, SIG_IGN);
    return l;
}

void sftplink_destroy(struct sftplink *l)
{
    if (l == NULL)
        return;
    mux_close(l->mux);
    pthread_mutex_destroy(&l->lock);
    free(l->address);
    free(l);
}

int64_t sftplink_pause_ms(int64_t last_ms)
{
    return last_ms == 0 ? 1000 : 2 * last_ms > 30000 ? 30000 : 2 * last_ms;
}

/* ---- the session's process ---- */

static void drop_mux(struct sftplink *l)
{
    mux_close(l->mux);
    l->mux = NULL;
}

static int start_mux(struct sftplink *l, struct err *e)
{
    struct child child = { .args = { CHILD_MUX, l->address } };
    pid_t pid;
    int ours, rc;

    if (unix_socket_pair(&ours, &child.channel_fd, e) < 0)
        return -1;
    rc = child_start(&child, &pid, e);
    close(child.channel_fd);
    if (rc < 0)
        close(ours);
    else
        l->mux = mux_attach(ours);
    return rc;
}

/* ---- connections ---- */

static int try_to_connect(struct sftplink *l)
{
    int fd = -1;

    if (units_monotonic_ms() < l->not_before_ms)
        return -1;
    err_clear(&l->why);
    if (l->mux != NULL && !mux_is_alive(l->mux))
        drop_mux(l);
    if (l->mux != NULL || start_mux(l, &l->why) == 0)
        fd = mux_sftp(l->mux, &l->why);
    if (fd >= 0) {
        l->n_users++;
        l->pause_ms = l->not_before_ms = 0;
        return fd;
    }
    if (l->pause_ms == 0)
        log_event(LOG_WARN, "not-connected", "server", "%s", l->address, "why", "%s", l->why.text,
                  NULL);
    l->pause_ms = l->why.kind == ERR_DENIED ? REFUSED_PAUSE_MS : sftplink_pause_ms(l->pause_ms);
    l->not_before_ms = units_monotonic_ms() + l->pause_ms;
    if (l->mux != NULL && (l->n_users == 0 || !mux_is_alive(l->mux)))
        drop_mux(l);
    return -1;
}

static int connect_sftp(void *context, struct err *e)
{
    struct sftplink *l = context;
    int fd;

    if (l->address[0] == '\0')
        return err_set(e, ERR_UNREACHABLE, "ludwigd is reached without SSH, and so without SFTP");
    pthread_mutex_lock(&l->lock);
    fd = try_to_connect(l);
    if (fd < 0)
        err_set(e, l->why.kind, "%s", l->why.text);
    pthread_mutex_unlock(&l->lock);
    return fd;
}

static void leave_mux(void *context)
{
    struct sftplink *l = context;

    pthread_mutex_lock(&l->lock);
    if (--l->n_users == 0)
        drop_mux(l);
    pthread_mutex_unlock(&l->lock);
}

struct share_source sftplink_source(struct sftplink *l)
{
    return (struct share_source){ .connect = connect_sftp, .leave = leave_mux, .context = l };
}
