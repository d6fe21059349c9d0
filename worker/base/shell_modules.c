/* SPDX-License-Identifier: MIT */
/* shell_modules.c - shell code that loads environment modules */

#include "worker/base/shell_modules.h"

/* Login shells define the function `module`.  Some versions of `module load` always return 0. */
const char shell_modules_load[] =
    "command -v module >/dev/null 2>&1 || for ludwig_x in \"${MODULESHOME-}/init/sh\""
    " /etc/profile.d/modules.sh /etc/profile.d/z00_lmod.sh /etc/profile.d/lmod.sh"
    " /usr/share/modules/init/sh /usr/share/lmod/lmod/init/sh; do\n"
    "if [ -r \"$ludwig_x\" ]; then . \"$ludwig_x\"; break; fi\n"
    "done\n"
    "command -v module >/dev/null 2>&1 || ludwig_fails environment \"$5\"\n"
    "ludwig_path=$4 ludwig_module=$6\n"
    "shift 6\n"
    "for ludwig_x; do\n"
    "ludwig_was=${LOADEDMODULES-}\n"
    "case \":$ludwig_was:\" in *\":$ludwig_x:\"* | *\":$ludwig_x/\"*) continue ;; esac\n"
    "module load \"$ludwig_x\" && [ \"${LOADEDMODULES-}\" != \"$ludwig_was\" ] ||\n"
    "ludwig_fails environment \"$ludwig_module $ludwig_x\"\n"
    "done\n"
    "PATH=${ludwig_path:+$ludwig_path:}$PATH\n";
