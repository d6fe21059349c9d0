#!/bin/bash
# systemd.sh - the units for a lab: systemd knows every line of them, and jobs outlive a restart
. "$(dirname "$0")/lib.sh"

units() {
    install -d units
    for unit in "$TEST_ROOT"/examples/systemd/*.service; do
        sed "s|/usr/local/bin|$LUDWIG_BIN|" "$unit" >"units/$(basename "$unit")"
    done
    # Older ones pass over it, and say so.
    [ "$(systemd-analyze --version | awk 'NR == 1 { print int($2) }')" -ge 254 ] ||
        sed -i '/^DelegateSubgroup=/d' units/*.service
}

known_lines() {
    units
    systemd-analyze verify --man=no units/*.service >said 2>&1 || true
    cat said
    [ ! -s said ]
    # what it says of a line that it does not know
    sed -i 's/^KillMode=/KillMoed=/' units/ludwig-worker.service
    systemd-analyze verify --man=no units/ludwig-worker.service 2>&1 | grep -q KillMoed
}
if command -v systemd-analyze >/dev/null; then
    it 'systemd knows every line of the units' known_lines
else
    skip 'systemd knows every line of the units' 'takes systemd-analyze'
fi

# A number from 0 to 10: how much of the system is open to it.
exposed() {
    units
    for most in ludwigd:4.0 ludwig-worker:7.5; do
        systemd-analyze security --offline=true --threshold=100 "$PWD/units/${most%:*}.service" >said
        tail -n 1 said
        level=$(tail -n 1 said | grep -oE '[0-9]+[.][0-9]+')
        awk "BEGIN { exit !($level <= ${most#*:}) }"
    done
}
if systemd-analyze security --help 2>/dev/null | grep -q offline; then
    it 'little of the system is open to ludwigd, and no kernel module, clock or raw device to a worker' exposed
else
    skip 'little of the system is open to ludwigd' 'takes systemd-analyze of systemd 251'
fi

line() { # UNIT LINE
    grep -qx -e "$2" "$TEST_ROOT/examples/systemd/$1.service"
}
it 'systemd ends the agent alone, and leaves its jobs their control groups' '
    line ludwig-worker KillMode=process
    line ludwig-worker Delegate=yes
    line ludwig-worker DelegateSubgroup=agent
    line ludwig-worker Restart=always
    line ludwigd Restart=always
'

configurations() {
    for name in ludwigd ludwig-worker; do
        file=$(sed -n "s|^ExecStart=.*--config /etc/ludwig/||p" "$TEST_ROOT/examples/systemd/$name.service")
        [ -e "$TEST_ROOT/examples/config/$file" ]
    done
}
it 'each names a configuration that there is an example of' configurations

done_testing
