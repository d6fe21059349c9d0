/* SPDX-License-Identifier: MIT */
/*
 * worker_site.h - makes a share and a scratch in a temporary folder, and orders for jobs there
 */
#ifndef LUDWIG_TESTS_UNIT_WORKER_SITE_H
#define LUDWIG_TESTS_UNIT_WORKER_SITE_H

#define SITE_HAS_SCRATCH

#include "common/data/msgpack.h"
#include "tests/unit/share_site.h"

/* Returns the order for attempt 1 of job 7.13, with {lr: 0.1}; its token is the digit 32 times.
 * The order is valid until the next call, which reuses s->params. */
static inline struct order site_order(struct site *s, char digit, const char *command)
{
    struct order o = { .server_id = "server", .share = s->share };
    char hex[TOKEN_HEX];

    buf_clear(&s->params);
    mp_add_map(&s->params, 1);
    mp_add_str(&s->params, "lr", 2);
    mp_add_float(&s->params, 0.1);
    memset(hex, digit, TOKEN_HEX - 1);
    hex[TOKEN_HEX - 1] = '\0';
    assert_int_equal(token_parse(hex, &o.assignment.token), 0);
    o.assignment.sweep = 7;
    o.assignment.job = 13;
    o.assignment.attempt = 1;
    o.assignment.param_name = "param_003";
    o.assignment.job_name = "20261121-101500_num0";
    o.assignment.seed = 99;
    o.assignment.params = buf_bytes(&s->params);
    o.work.sweep = 7;
    o.work.project = "demo";
    o.work.user = "somebody";
    o.work.work.command = command;
    o.work.work.resources.cpus_milli = 2500;
    return o;
}

#endif
