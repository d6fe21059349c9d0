/* SPDX-License-Identifier: MIT */
/*
 * shell_modules.h - the lines of a shell that load modules
 */
#ifndef LUDWIG_WORKER_BASE_SHELL_MODULES_H
#define LUDWIG_WORKER_BASE_SHELL_MODULES_H

/*
 * Of its arguments these take 4: what goes in front of PATH behind them, 5 and 6: what is said where there
 * is no command `module` and of a module that cannot be loaded, and behind them the modules.  Where that
 * fails they call ludwig_fails with "environment" and the text.
 */
extern const char shell_modules_load[];

#endif
