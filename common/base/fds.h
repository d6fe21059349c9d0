/* SPDX-License-Identifier: MIT */
/*
 * fds.h - what a forked process must not hold open
 */
#ifndef LUDWIG_COMMON_BASE_FDS_H
#define LUDWIG_COMMON_BASE_FDS_H

#include <stddef.h>

/* Closes all descriptors above 2 but these. */
void fds_close_all_but(const int *keep, size_t n);
/* Standard input and output become /dev/null; what is written for people still gets through. */
void fds_detach(void);

#endif
