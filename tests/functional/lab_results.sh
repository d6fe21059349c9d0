#!/bin/bash
# lab_results.sh - as lab_commands.sh: from the submit to results and files
LAB_TESTS=${LAB_TESTS-submit reuse results series report fetch}
. "$(dirname "$0")/lab_commands.sh"
