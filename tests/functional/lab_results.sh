#!/bin/bash
# lab_results.sh - as lab_commands.sh: from the submit to results and files
LAB_TESTS=${LAB_TESTS-results fetch${LUDWIG_TEST_ALL:+ submit reuse series report param2vals}}
. "$(dirname "$0")/lab_commands.sh"
