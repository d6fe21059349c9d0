#!/usr/bin/env bash
# netshare.sh - the ways of results, logs, checkpoints and requests over a real NFS 4.2 and a real SMB
#
# A machine in the machine serves both and mounts them, as few kernels that run tests may:
# tests/lab/netshare.sh is what runs there, and prints these tests' lines.
. "$(dirname "$0")/lib.sh"
. "$TEST_ROOT/tests/functional/guest.sh"

what='NFS 4.2 and SMB, served and mounted for real'

lacks() { # WHY
    skip "$what" "$1"
    done_testing
}

guest_possible || lacks "$guest_lacks"
for tool in smbd mount.cifs rpc.nfsd mount.nfs4; do
    [ -x "$guest_tools/usr/sbin/$tool" ] || PATH=$PATH:/usr/sbin:/sbin command -v $tool >/dev/null ||
        lacks "takes $tool (packages samba, cifs-utils, nfs-kernel-server, nfs-common)"
done
guest_run tests/lab/netshare.sh 768M || lacks "$guest_lacks"
guest_report
