/* SPDX-License-Identifier: MIT */
/* ssh.c - one SSH session */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif

#include <libssh/server.h> /* ssh_send_keepalive */

#include "common/base/io.h"
#include "common/base/units.h"
#include "common/ssh/ssh_internal.h"

enum {
    CONNECT_MS =
        30 * 1000, /* for all but the log-in, which may wait for people and other servers */
    SILENCE_MS = 20 * 1000, /* a server silent for so long is asked whether it lives, */
    DEAD_MS = 60 * 1000,    /* and for so long counts as dead */
    PACKETS_MAX = 256       /* packets read in a turn, so that writing gets its turn */
};

/* ---- starting ---- */

static int set(struct ssh *s, enum ssh_options_e option, const void *value, struct err *e)
{
    if (ssh_options_set(s->session, option, value) == 0)
        return 0;
    return err_set(e, ERR_FAILED, "libssh: %s", ssh_words(s));
}

/* The list of ciphers, the fastest on this machine first. */
static const char *ciphers(void)
{
    bool has_fast_aes = true;

#if defined __x86_64__ || defined __i386__
    has_fast_aes = __builtin_cpu_supports("aes") != 0;
#elif defined __linux__ && defined __aarch64__
    has_fast_aes = (getauxval(AT_HWCAP) & (1ul << 3)) != 0;
#endif
#define GCM "aes128-gcm@openssh.com,aes256-gcm@openssh.com"
#define CTR "aes128-ctr,aes256-ctr,aes192-ctr"
    return has_fast_aes ? GCM ",chacha20-poly1305@openssh.com," CTR
                        : "chacha20-poly1305@openssh.com," GCM "," CTR;
}

/* Lets libssh read the configuration files, where there is no ssh program. */
static int read_files(struct ssh *s, struct err *e)
{
    struct ssh_conf *c = &s->conf;
    const struct {
        enum ssh_options_e option;
        const char **to;
    } texts[] = {
        { SSH_OPTIONS_HOST, &c->host },
        { SSH_OPTIONS_USER, &c->user },
        { SSH_OPTIONS_PROXYCOMMAND, &c->proxy_command },
    };
    unsigned port = 0;

    setenv("OPENSSH_PROXYJUMP", "1", 1); /* ProxyJump becomes a ProxyCommand */
    if (ssh_options_parse_config(s->session, NULL) < 0)
        return err_set(e, ERR_USAGE, "ssh's configuration cannot be read: %s", ssh_words(s));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char *value = NULL;

        if (ssh_options_get(s->session, texts[i].option, &value) == 0 && value != NULL)
            *texts[i].to = arena_strdup(c->arena, value);
        ssh_string_free_char(value);
    }
    if (s->plan.to->port == 0 && ssh_options_get_port(s->session, &port) == 0 && port != 0)
        c->port = (int)port;
    if (s->plan.to->user != NULL)
        c->user = s->plan.to->user;
    return 0;
}

static int configure(struct ssh *s, struct err *e)
{
    const bool process = false;

    if (set(s, SSH_OPTIONS_HOST, s->conf.host, e) < 0 ||
        set(s, SSH_OPTIONS_PORT, &s->conf.port, e) < 0 ||
        set(s, SSH_OPTIONS_USER, s->conf.user, e) < 0 ||
        (s->conf.is_guess && read_files(s, e) < 0) ||
        set(s, SSH_OPTIONS_PROCESS_CONFIG, &process, e) < 0 ||
        set(s, SSH_OPTIONS_USER, s->conf.user, e) < 0 ||
        set(s, SSH_OPTIONS_CIPHERS_C_S, ciphers(), e) < 0 ||
        set(s, SSH_OPTIONS_CIPHERS_S_C, ciphers(), e) < 0)
        return -1;
    /* All versions of libssh take the agent's socket from this variable. */
    if (s->conf.agent != NULL)
        setenv("SSH_AUTH_SOCK", s->conf.agent, 1);
    else
        unsetenv("SSH_AUTH_SOCK");
    return ssh_hostkey_prepare(s, e);
}

static int exchange_keys(struct ssh *s, const struct ssh_patience *p, struct err *e)
{
    struct err why = { 0 };
    int rc;

    while ((rc = ssh_connect(s->session)) == SSH_AGAIN)
        if (ssh_wait_again(s, p, &why) < 0)
            break;
    if (rc == SSH_OK) /* libssh has made fd blocking, but now writes only after poll(2) */
        return io_set_nonblocking(ssh_get_fd(s->session), e);
    if (why.kind != ERR_NONE && why.kind != ERR_BUSY)
        return err_set(e, why.kind, "%s", why.text);
    if (why.kind == ERR_BUSY)
        err_set(e, ERR_UNREACHABLE, "no agreement on keys within %d s; is the network cut?",
                CONNECT_MS / 1000);
    else
        err_set(e, ERR_UNREACHABLE, "key exchange failed: %s", ssh_words(s));
    return ssh_dial_wrap(&s->conf, s->dialed.address, e);
}

static int begin_session(struct ssh *s, struct err *e)
{
    int64_t started_ms = units_monotonic_ms();
    struct ssh_patience p = { started_ms + CONNECT_MS, s->plan.watch_fd };
    socket_t fd;

    if (configure(s, e) < 0 || ssh_dial(&s->conf, &p, &s->dialed, e) < 0)
        return -1;
    fd = s->dialed.fd;
    if (set(s, SSH_OPTIONS_FD, &fd, e) < 0)
        return -1;
    if (s->dialed.proxy == 0)
        s->plan.dialed(s->plan.context, s);
    if (exchange_keys(s, &p, e) < 0 || ssh_hostkey_check(s, e) < 0 || ssh_authenticate(s, e) < 0)
        return -1;
    s->event = ssh_event_new();
    if (s->event == NULL || ssh_event_add_session(s->event, s->session) != SSH_OK)
        return err_set(e, ERR_FAILED, "libssh: no event loop");
    s->heard_ms = s->keepalive_ms = units_monotonic_ms();
    s->connect_ms = s->heard_ms - started_ms;
    return 0;
}

struct ssh *ssh_start(const struct ssh_plan *plan, struct err *e)
{
    struct ssh *s = mem_alloc(sizeof *s);
    int rc;

    s->plan = *plan;
    s->dialed.fd = -1;
    s->session = ssh_new();
    if (s->session == NULL)
        rc = err_set(e, ERR_FAILED, "libssh: no session");
    else if (plan->conf_said != NULL)
        rc = ssh_conf_parse(&s->conf, plan->to, plan->conf_said, e);
    else
        rc = ssh_conf_read(&s->conf, plan->to, SSH_CONF_MAX_MS, e);
    if (rc == 0) {
        ssh_set_blocking(s->session, 0);
        ssh_set_counters(s->session, &s->counter, NULL);
        if (begin_session(s, e) == 0)
            return s;
    }
    ssh_stop(s);
    return NULL;
}

void ssh_stop(struct ssh *s)
{
    if (s->event != NULL) {
        ssh_event_remove_session(s->event, s->session);
        ssh_event_free(s->event);
    }
    if (s->session != NULL) {
        ssh_disconnect(s->session);
        ssh_free(s->session);
    }
    if (s->dialed.proxy > 0)
        (void)kill(s->dialed.proxy, SIGHUP); /* as ssh does: some proxies do not notice the end */
    if (s->conf.arena != NULL)
        ssh_conf_free(&s->conf);
    free(s->dialed.address);
    free(s->host_key_type);
    free(s->host_key_digest);
    free(s->authentication);
    free(s);
}

/* ---- facts ---- */

static const char *copy(struct arena *a, const char *text)
{
    return arena_strdup(a, text != NULL ? text : "");
}

void ssh_tell(const struct ssh *s, struct arena *a, struct connect_facts *f)
{
    f->user = copy(a, s->conf.user);
    f->host = copy(a, s->conf.host);
    f->port = s->conf.port;
    f->address = copy(a, s->dialed.address);
    f->proxy = copy(a, s->conf.proxy_command);
    f->server_software = copy(a, ssh_get_serverbanner(s->session));
    f->host_key_type = copy(a, s->host_key_type);
    f->host_key_digest = copy(a, s->host_key_digest);
    f->authentication = copy(a, s->authentication);
    f->cipher = copy(a, ssh_get_cipher_out(s->session));
    f->connect_ms = s->connect_ms;
}

const struct ssh_conf *ssh_conf_of(const struct ssh *s)
{
    return &s->conf;
}

/* ---- turns ---- */

int64_t ssh_round_trip_ms(const struct ssh *s)
{
    return s->dialed.round_trip_ms;
}

int ssh_fd(const struct ssh *s)
{
    return ssh_get_fd(s->session);
}

/* ServerAliveInterval can only shorten SILENCE_MS. */
static int64_t silence_ms_of(const struct ssh *s)
{
    int64_t said_ms = s->conf.silence_ms;

    return said_ms > 0 && said_ms < SILENCE_MS ? said_ms : SILENCE_MS;
}

static int64_t dead_ms_of(const struct ssh *s)
{
    int64_t said_ms = s->conf.silence_ms * (s->conf.n_questions + 1);

    return said_ms > 0 && said_ms < DEAD_MS ? said_ms : DEAD_MS;
}

int64_t ssh_next_turn_ms(const struct ssh *s)
{
    return s->keepalive_ms + silence_ms_of(s);
}

bool ssh_is_alive(const struct ssh *s)
{
    return ssh_is_connected(s->session) != 0;
}

int ssh_turn(struct ssh *s, struct err *e)
{
    int64_t now_ms;
    int rc = SSH_OK;

#ifdef TCP_QUICKACK
    /* A server with more to send often waits for the acknowledgement of its last bytes, which this
     * side's kernel would delay by 40 ms. */
    if (s->n_opening > 0)
        (void)setsockopt(ssh_get_fd(s->session), IPPROTO_TCP, TCP_QUICKACK, &(const int){ 1 },
                         sizeof(int));
#endif
    for (int i = 0; rc == SSH_OK && i < PACKETS_MAX; i++)
        rc = ssh_event_dopoll(s->event, 0);
    if (rc == SSH_ERROR || !ssh_is_connected(s->session))
        return err_set(e, ERR_UNREACHABLE, "the connection to %s was lost: %s", s->conf.alias,
                       ssh_words(s));

    /* A silent server is asked for a sign of life; any answer will do. */
    now_ms = units_monotonic_ms();
    if (s->counter.in_bytes != s->heard_bytes) {
        s->heard_bytes = s->counter.in_bytes;
        s->heard_ms = s->keepalive_ms = now_ms;
    }
    if (now_ms - s->heard_ms >= dead_ms_of(s))
        return err_set(e, ERR_UNREACHABLE, "the connection to %s was lost: no answer for %d s",
                       s->conf.alias, (int)(dead_ms_of(s) / 1000));
    if (now_ms - s->keepalive_ms < silence_ms_of(s))
        return 0;
    s->keepalive_ms = now_ms;
    (void)ssh_send_keepalive(s->session); /* if that fails, so does the next turn */
    return 0;
}
