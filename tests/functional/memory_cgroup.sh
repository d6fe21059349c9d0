#!/usr/bin/env bash
# memory_cgroup.sh - each job's memory is limited by the kernel, where we may make control groups
#
# A machine in the machine has the groups of version 2 to itself, as few places that run tests have:
# tests/lab/memory_cgroup.sh is what runs there, and prints these tests' lines.
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/guest.sh"

what='memory limits of jobs by control groups'
guest_possible || { skip "$what" "$guest_lacks" && done_testing; }
guest_run tests/lab/memory_cgroup.sh 384M || { skip "$what" "$guest_lacks" && done_testing; }
guest_report
