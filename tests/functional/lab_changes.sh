#!/bin/bash
# lab_changes.sh - as lab_commands.sh: commands that change what runs, and whose it is
LAB_TESTS=${LAB_TESTS-cancel${LUDWIG_TEST_ALL:+ pause retry drain label}}
. "$(dirname "$0")/lab_commands.sh"
