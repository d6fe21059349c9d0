/* SPDX-License-Identifier: MIT */
/* spec_notify.c - notify:, who is told of a sweep's events */
#include <stdlib.h>

#include "client/spec/spec_internal.h"
#include "common/base/suggest.h"

enum { AFTER_MIN_MS = 1000 };

/* notify: as the file has it, with when as words. */
struct notify_text {
    struct list when;
    struct notify notify;
};

#define AT(member) offsetof(struct notify_text, member)

const struct key spec_notify_keys[] = {
    { .name = "when",
      .type = KEY_STRS,
      .offset = AT(when),
      .max = NOTIFY_EVENT_COUNT,
      .help = "which events are told: ended, failed (a first job has), stalled (nothing runs, and "
              "nothing can); default: ended",
      .schema =
          "\"anyOf\": [{\"enum\": [\"ended\", \"failed\", \"stalled\"]}, {\"type\": \"array\", "
          "\"items\": {\"enum\": [\"ended\", \"failed\", \"stalled\"]}, \"minItems\": 1, "
          "\"maxItems\": 3}]" },
    { .name = "run",
      .type = KEY_STR,
      .offset = AT(notify.run),
      .help =
          "a command, run by /bin/sh on a worker with the source and the environment of the jobs; "
          "LUDWIG_EVENT and others say what happened, its standard input has a line of text" },
    { .name = "mail",
      .type = KEY_STR,
      .offset = AT(notify.mail),
      .help = "an address; mailed with the sendmail program of a node" },
    { .name = "url",
      .type = KEY_STR,
      .offset = AT(notify.url),
      .help =
          "gets {\"text\": ...} by POST, as Slack, Mattermost and ntfy take it; $NAME: the value of "
          "that variable of the shell that submits" },
    { .name = "after",
      .type = KEY_DURATION,
      .offset = AT(notify.after_ms),
      .min = AFTER_MIN_MS,
      .help = "so long it must have been stalled; default: 15m" },
    { .name = NULL },
};

#undef AT

static void read_when(struct yaml_keys_reader *r, const struct yaml_node *node,
                      const struct list *words, struct notify *to)
{
    const char *const *items = words->items;

    if (node == NULL)
        to->when = 1 << NOTIFY_ENDED;
    else if (words->n == 0)
        yaml_keys_error(r, node, "when: expected ended, failed or stalled");
    for (size_t i = 0; node != NULL && i < words->n; i++) {
        struct suggest nearest = { .word = items[i] };
        int event = 0;

        while (items[i] != NULL && event < NOTIFY_EVENT_COUNT &&
               strcmp(notify_event_names[event], items[i]) != 0)
            suggest_try(&nearest, notify_event_names[event++]);
        if (event < NOTIFY_EVENT_COUNT)
            to->when |= 1 << event;
        else
            yaml_keys_error(
                r, spec_item_at(node, i), "when: unknown event '%s' (%s%s%s)", items[i],
                nearest.best != NULL ? "did you mean '" : "there are ended, failed, stalled",
                nearest.best != NULL ? nearest.best : "", nearest.best != NULL ? "'?" : "");
    }
}

/* Replaces url: $NAME by its value; refuses a login, which readers of the project would see. */
static void read_url(struct yaml_keys_reader *r, const struct yaml_node *node, struct notify *to)
{
    const char *value;

    if (to->url[0] == '$') {
        value = getenv(to->url + 1);
        if (value == NULL)
            yaml_keys_error(r, node, "url: %s is not set here", to->url);
        else
            to->url = arena_strdup(r->arena, value);
    } else if (notify_has_login(to->url)) {
        yaml_keys_error(
            r, node,
            "url: it has a name or password, which all who may read the project would see: "
            "write url: $NAME, and set NAME in the shell that submits");
    }
}

int spec_read_notify(struct yaml_keys_reader *r, const struct key *key,
                     const struct yaml_node *node, void *to)
{
    struct notify_text text = { 0 };
    const struct yaml_node *url, *at;
    struct notify *notify = to;
    size_t n_errors = r->n_errors;
    struct err e = { 0 };

    if (node->type == VALUE_NULL)
        return 0;
    if (node->type != VALUE_MAP)
        return yaml_keys_error(
            r, node, "%s: expected {when: ended, run: COMMAND}, or mail: or url:", key->name);
    if (yaml_keys_read(r, spec_notify_keys, node, &text) < 0)
        return -1;
    *notify = text.notify;
    read_when(r, yaml_get(node, "when"), &text.when, notify);
    url = yaml_get(node, "url");
    if (notify->url != NULL)
        read_url(r, url, notify);
    if (r->n_errors > n_errors)
        return -1;
    at = notify->mail != NULL ? yaml_get(node, "mail") : url != NULL ? url : node;
    if (notify_check(notify, &e) < 0)
        return yaml_keys_error(r, at, "%s: %s", key->name, e.text);
    return 0;
}
