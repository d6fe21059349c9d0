# screen.sh - a terminal of tmux, whose screen a test reads; sourced after lib.sh, needs tmux
#
#     tm COMMAND...              run tmux with a server of the test's own; a test may define its own tm
#     keys KEY...                press these keys
#     shown PATTERN              whether a line of the screen matches an extended regular expression; the
#                                screen is then in the file screen
#     shows PATTERN              wait until a line matches
tm() { LC_ALL=C.UTF-8 TERM=xterm-256color tmux -f /dev/null -S "$TEST_TMP/tmux" -u "$@"; }
keys() { tm send-keys "$@"; }
shown() { # PATTERN
    tm capture-pane -p >screen
    grep -qE -- "$1" screen
}
shows() { # PATTERN
    wait_until 20 shown "$1" || {
        cat screen
        return 1
    }
}
