# shellcheck shell=bash
# guest_lib.sh - sourced instead of tests/functional/lib.sh by scripts that run in a guest
. /repo/tests/functional/lib.sh

# functional/guest.sh kills the guest after guest_limit_s, so on a busy machine the last tests are
# skipped.  A failing test may wait for 300 s, and its clean-up again, so no test begins in the last
# 600 s.
eval "lib_$(declare -f it)"
it() { # SENTENCE BODY
    if [ $SECONDS -lt $((GUEST_LIMIT_S - 600)) ]; then
        lib_it "$@"
    else
        skip "$1" 'this machine is too busy: there was no time left'
    fi
}
