#!/usr/bin/env python3
# measure.py - runs a command and measures its time and memory
"""usage: measure.py FILE COMMAND...

Writes "SECONDS PEAK_KB CPU_SECONDS" to FILE.  PEAK_KB is never less than what measure.py itself uses."""

import os
import sys
import time

began = time.monotonic()
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
with open(sys.argv[1], "w", encoding="utf-8") as out:
    print("%.2f %d %.2f" % (time.monotonic() - began, usage.ru_maxrss, usage.ru_utime + usage.ru_stime), file=out)
sys.exit(os.waitstatus_to_exitcode(status))
