/* SPDX-License-Identifier: MIT */
/* share_packer.c - packs data that lie on the share already, for one user */

#include "worker/stager/share_packer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/io.h"
#include "common/base/path.h"
#include "worker/base/child_start.h"
#include "worker/base/child_protocol.h"

/* The longest line of ludwig's output that is kept whole. */
enum { LINE_MAX_BYTES = ERR_TEXT_BYTES };

struct share_packer {
    const char *scratch;
    struct wire wire;
};

/* One run of ludwig, for one order. */
struct doing {
    struct share_packer *packer;
    struct note_packed note;
    struct buf said;    /* the beginning of a line that has not ended yet */
    struct buf trouble; /* the last line that is no report */
};

/* ---- ludwig's output ---- */

/* Lines are "at FILES BYTES", "done TREE ID FILES BYTES", or trouble. */
static int take_bytes(struct doing *d, const char *bytes, size_t n, struct err *e)
{
    struct dataset *set = &d->note.set;
    char tree[DIGEST_HEX], id[DIGEST_HEX];
    long long n_files, n_bytes;

    for (size_t i = 0; i < n; i++) {
        const char *line = buf_text(&d->said);

        if (bytes[i] != '\n' && bytes[i] != '\0') {
            if (d->said.n < LINE_MAX_BYTES - 1)
                buf_add_char(&d->said, bytes[i]);
            continue;
        }
        if (sscanf(line, "at %lld %lld", &n_files, &n_bytes) == 2 && n_files >= 0 && n_bytes >= 0) {
            d->note.files = n_files;
            d->note.bytes = n_bytes;
            if (wire_send(&d->packer->wire, NOTE_PACKED, 0, NULL, &d->note, e) < 0)
                return -1;
        } else if (sscanf(line, "done %64[0-9a-f] %64[0-9a-f] %lld %lld", tree, id, &n_files,
                          &n_bytes) == 4 &&
                   digest_parse(tree, &set->tree) == 0 && digest_parse(id, &set->id) == 0 &&
                   n_files >= 0 && n_bytes >= 0) {
            set->files = n_files;
            set->bytes = n_bytes;
        } else if (d->said.n > 0) {
            buf_clear(&d->trouble);
            buf_add_str(&d->trouble, line);
        }
        buf_clear(&d->said);
    }
    return 0;
}

/* Reads until ludwig has ended; -1: the agent is gone. */
static int listen_to(struct doing *d, int fd, struct err *e)
{
    char bytes[4096];

    for (;;) {
        struct pollfd fds[] = { { fd, POLLIN, 0 }, { d->packer->wire.fd, 0, 0 } };
        ssize_t n;

        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return err_sys(e, "wait for ludwig");
        if (fds[1].revents != 0)
            return err_set(e, ERR_UNREACHABLE, "the agent is gone");
        if (fds[0].revents == 0)
            continue;
        n = read(fd, bytes, sizeof bytes);
        if (n < 0 && errno != EINTR)
            return err_sys(e, "listen to ludwig");
        if (n == 0)
            return take_bytes(d, "\n", 1, e);
        if (n > 0 && take_bytes(d, bytes, (size_t)n, e) < 0)
            return -1;
    }
}

/* ---- ludwig ---- */

static pid_t start_ludwig(const struct share_packer *p, const struct order_pack *x, int *fd,
                          struct err *e)
{
    char *program = mem_printf("%s/" SCRATCH_BIN "/ludwig", p->scratch);
    const char *argv[] = { "ludwig",
                           "--pack-share",
                           x->share,
                           x->project,
                           x->drive,
                           x->path,
                           x->only_here ? "only-here" : NULL,
                           NULL };
    int ends[2] = { -1, -1 };
    sigset_t none;
    pid_t pid = -1;

    sigemptyset(&none);
    if (pipe2(ends, O_CLOEXEC) < 0) {
        err_sys(e, "make a pipe");
    } else if ((pid = fork()) < 0) {
        err_sys(e, "start ludwig");
    } else if (pid == 0) { /* only what may be called between fork and exec */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        if (dup2(ends[1], STDOUT_FILENO) >= 0 && dup2(ends[1], STDERR_FILENO) >= 0) {
            execv(program, (char **)(uintptr_t)argv);
            dprintf(STDERR_FILENO, "%s cannot be run\n", program);
        }
        _exit(127);
    }
    if (ends[1] >= 0)
        close(ends[1]);
    if (pid < 0 && ends[0] >= 0)
        close(ends[0]);
    *fd = ends[0];
    free(program);
    return pid;
}

/* -1: the agent is gone.  Other failures are in the note. */
static int run_ludwig(struct doing *d, const struct order_pack *x, struct err *e)
{
    struct err why = { 0 };
    int fd, rc, status = -1;
    pid_t pid = start_ludwig(d->packer, x, &fd, &why);

    if (pid < 0) {
        buf_add_str(&d->trouble, why.text);
        return 0;
    }
    rc = listen_to(d, fd, e);
    close(fd);
    if (rc < 0)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0 && d->trouble.n == 0)
        buf_printf(&d->trouble, "it ended with status %d", status);
    if (status == 0)
        buf_clear(&d->trouble);
    return rc;
}

int share_packer_main(int argc, char **argv)
{
    static const int types[] = { ORDER_PACK, -1 };
    struct share_packer p = { 0 };
    struct envelope m;
    struct order_pack x;
    struct err e = { 0 };
    char *cache;
    int rc;

    if (argc != 2 || argv[1][0] != '/') {
        err_set(&e, ERR_USAGE, "--packer SCRATCH");
        return child_fail("packer", &e);
    }
    p.scratch = argv[1];
    cache = path_join(p.scratch, SCRATCH_PACKING); /* where ludwig keeps its findings */
    rc = child_begin(&e);
    if (rc == 0)
        rc = io_make_dirs(cache, 0700, &e);
    if (rc == 0 && setenv("XDG_CACHE_HOME", cache, 1) < 0)
        rc = err_sys(&e, "set XDG_CACHE_HOME");
    free(cache);
    if (rc < 0)
        return child_fail("packer", &e);
    wire_init(&p.wire, CHILD_CHANNEL_FD, &orders);
    while ((rc = wire_receive(&p.wire, &m, &e)) == 1) {
        struct doing d = { .packer = &p };

        rc = child_order_body(&p.wire, &m, types, &x, &e);
        if (rc == 0) {
            d.note.token = x.token;
            rc = run_ludwig(&d, &x, &e);
        }
        d.note.is_over = true;
        if (d.trouble.n > 0)
            d.note.error = buf_text(&d.trouble);
        if (rc == 0 && wire_send(&p.wire, NOTE_PACKED, 0, NULL, &d.note, &e) < 0)
            rc = -1;
        buf_free(&d.said);
        buf_free(&d.trouble);
        if (rc < 0)
            break;
    }
    wire_close(&p.wire);
    return rc < 0 && e.kind != ERR_UNREACHABLE ? child_fail("packer", &e) : 0;
}
