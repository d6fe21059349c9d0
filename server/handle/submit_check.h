/* SPDX-License-Identifier: MIT */
/*
 * submit_check.h - is a submit in order?
 */
#ifndef LUDWIG_SERVER_HANDLE_SUBMIT_CHECK_H
#define LUDWIG_SERVER_HANDLE_SUBMIT_CHECK_H

#include "server/base/conf.h"
#include "server/conn/conn.h"

/*
 * What the table of messages cannot say: who may submit, names that end up in paths, in an environment
 * or in sbatch's arguments, nodes there are, and values that exclude each other.  -1: ERR_USAGE or
 * ERR_DENIED, with the key that is wrong.
 */
int submit_check(const struct conf *conf, const struct conn *c, const struct msg_submit_begin *req,
                 struct err *e);

#endif
