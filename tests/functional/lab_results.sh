#!/bin/bash
# lab_results.sh - as lab_commands.sh: from the submit to results and files
LAB_TESTS=${LAB_TESTS-submit reuse results series report fetch param2vals}
. "$(dirname "$0")/lab_commands.sh"
