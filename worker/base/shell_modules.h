/* SPDX-License-Identifier: MIT */
/*
 * shell_modules.h - shell code that loads environment modules
 */
#ifndef LUDWIG_WORKER_BASE_SHELL_MODULES_H
#define LUDWIG_WORKER_BASE_SHELL_MODULES_H

/*
 * Positional parameters: $4 goes in front of PATH when the modules, from $7 on, are loaded.  On an
 * error the code calls ludwig_fails with "environment" and a message: $5 where there is no command
 * `module`, else $6 and the module that cannot be loaded.
 */
extern const char shell_modules_load[];

#endif
