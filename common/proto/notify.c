/* SPDX-License-Identifier: MIT */
/* notify.c - how a sweep's owner is notified: fields, checks and a description */
#include "common/proto/notify.h"

#include <ctype.h>
#include <string.h>

#include "common/proto/jobspec.h"

#define X(constant, number, name, ...) [number] = name,
const char *const notify_event_names[NOTIFY_EVENT_COUNT] = { NOTIFY_EVENTS(X) };
#undef X

static const struct field notify_fields[] = {
    FIELD(struct notify, when, FIELD_INT, FIELD_REQUIRED, (1 << NOTIFY_EVENT_COUNT) - 1),
    FIELD(struct notify, after_ms, FIELD_INT, 0, INT64_C(1) << 40),
    FIELD(struct notify, run, FIELD_STR, 0, COMMAND_MAX_BYTES),
    FIELD(struct notify, mail, FIELD_STR, 0, NOTIFY_PLACE_MAX_BYTES),
    FIELD(struct notify, url, FIELD_STR, 0, NOTIFY_PLACE_MAX_BYTES),
};
const struct schema notify_schema = SCHEMA(struct notify, "notify", notify_fields);

/* The part of the URL behind "://"; NULL: it is no URL of http or https. */
static const char *host_of(const char *url)
{
    if (strncmp(url, "https://", 8) == 0)
        return url + 8;
    return strncmp(url, "http://", 7) == 0 ? url + 7 : NULL;
}

/* Whether text fits into one line of a mail, or of curl's configuration. */
static bool is_one_line(const char *text, bool takes_spaces)
{
    for (; *text != '\0'; text++)
        if (iscntrl((unsigned char)*text) || (*text == ' ' && !takes_spaces))
            return false;
    return true;
}

int notify_check(const struct notify *n, struct err *e)
{
    const char *const ways[] = { n->run, n->mail, n->url };
    size_t n_ways = 0;

    for (size_t i = 0; i < 3; i++) {
        n_ways += ways[i] != NULL;
        if (ways[i] != NULL && ways[i][strspn(ways[i], " \t\n")] == '\0')
            return err_set(e, ERR_USAGE, "it is empty");
    }
    if (n_ways != 1)
        return err_set(e, ERR_USAGE, "expected one of run: COMMAND, mail: ADDRESS and url: URL");
    if (n->mail != NULL && (n->mail[0] == '-' || !is_one_line(n->mail, true)))
        return err_set(e, ERR_USAGE, "that is no address of a mail");
    if (n->url != NULL &&
        (host_of(n->url) == NULL || !is_one_line(n->url, false) ||
         isalnum((unsigned char)host_of(n->url)[0]) + (host_of(n->url)[0] == '[') == 0))
        return err_set(e, ERR_USAGE, "expected a URL as https://HOST/PATH");
    if (n->when <= 0)
        return err_set(e, ERR_USAGE, "expected ended, failed or stalled");
    return 0;
}

bool notify_has_login(const char *url)
{
    const char *host = host_of(url);

    return host != NULL && memchr(host, '@', strcspn(host, "/?#")) != NULL;
}

void notify_describe(const struct notify *n, struct buf *out)
{
    const char *host = n->url == NULL ? NULL : host_of(n->url), *at;
    int shown = 0;

    for (int i = 0; i < NOTIFY_EVENT_COUNT; i++)
        if ((n->when & (1 << i)) != 0)
            buf_printf(out, "%s%s", shown++ > 0 ? ", " : "", notify_event_names[i]);
    if (n->run != NULL) {
        buf_printf(out, ": %s", n->run);
    } else if (n->mail != NULL) {
        buf_printf(out, ": mail to %s", n->mail);
    } else if (host != NULL) {
        at = memchr(host, '@', strcspn(host, "/?#"));
        host = at != NULL ? at + 1 : host;
        buf_printf(out, ": a message to %.*s", (int)strcspn(host, "/?#"), host);
    }
}
