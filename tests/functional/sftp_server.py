#!/usr/bin/env python3
# sftp_server.py - an SFTP server that counts requests and can cut or slow down its connection
#
# It serves SFTP on standard input and output by a real sftp-server that it starts.  At the end it
# appends a line of JSON to LOG: the number of requests of each kind, the bytes of files that they
# wrote, the bytes sent back, and whether --cut-at-list had cut an earlier connection.
"""usage: sftp_server.py LOG [--cut-in BYTES] [--cut-out BYTES] [--stall-in BYTES [--until FILE]]
                      [--stall-at-list] [--cut-at-list FILE [--for-good]] [--rate BYTES] [--umask MODE] [--uid UID]

--cut-in, --cut-out: end the connection after so many bytes to the server, or from it.
--stall-in: stop reading after so many bytes; --until: go on when FILE exists.
--stall-at-list: stop reading after the request that gives a part's list its name.
--cut-at-list: when the client has renamed a part's list to its name, make FILE and end the connection; later
requests are not executed.  If FILE exists already the connection is not ended; with --for-good it ends at once.
--rate: read no more than so many bytes per second."""

import argparse
import json
import os
import select
import signal
import subprocess
import sys
import time

NAMES = {1: "init", 3: "open", 4: "close", 5: "read", 6: "write", 7: "lstat", 8: "fstat", 9: "setstat",
         10: "fsetstat", 11: "opendir", 12: "readdir", 13: "remove", 14: "mkdir", 15: "rmdir",
         16: "realpath", 17: "stat", 18: "rename", 19: "readlink", 20: "symlink", 200: "extended"}
PLACES = ["/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server",
          "/usr/lib/ssh/sftp-server", "/usr/libexec/sftp-server"]


class Requests:
    """Counts the client's requests."""

    def __init__(self):
        self.counts = {}
        self.written = 0
        self.rest = b""
        self.list = None  # the first list that is renamed to its name

    def feed(self, data):
        """Counts these bytes; returns how many of them to pass on: up to the renaming of the first list."""
        self.rest += data
        at, wanted = 0, len(data)
        while len(self.rest) - at >= 5:
            n = int.from_bytes(self.rest[at:at + 4], "big")
            if len(self.rest) - at < 4 + n:
                break
            had_one = self.list is not None
            self.take(self.rest[at + 4:at + 4 + n])
            at += 4 + n
            if self.list is not None and not had_one:
                wanted -= len(self.rest) - at
        self.rest = self.rest[at:]
        return wanted

    def take(self, packet):
        name = NAMES.get(packet[0], "other")
        if name == "extended":
            n = int.from_bytes(packet[5:9], "big")
            name = packet[9:9 + n].decode().split("@")[0]
        if name == "write":
            handle = int.from_bytes(packet[5:9], "big")
            self.written += len(packet) - (5 + 4 + handle + 8 + 4)
        if name == "rename" and packet.endswith(b".list") and self.list is None:
            n = int.from_bytes(packet[5:9], "big")
            self.list = packet[9 + n + 4:]
        self.counts[name] = self.counts.get(name, 0) + 1


def write_all(fd, data):
    while data:
        data = data[os.write(fd, data):]


def pump(child, options, requests):
    """Passes bytes on until one side has ended or the connection is cut; returns how many bytes came back."""
    came = went = 0
    began = time.monotonic()
    ends = {0: child.stdin.fileno(), child.stdout.fileno(): 1}
    while True:
        if options.stall_in is not None and came >= options.stall_in:
            ends.pop(0, None)
        stalls = 0 not in ends and options.until is not None
        if stalls and os.path.exists(options.until):
            options.stall_in = None
            ends[0] = child.stdin.fileno()
        for fd in select.select(list(ends), [], [], 0.05 if stalls else None)[0]:
            data = os.read(fd, 1 << 16)
            if not data:
                return went
            to = ends[fd]
            if fd == 0:
                came += len(data)
                wanted = requests.feed(data)
                if options.rate is not None:
                    time.sleep(max(0, came / options.rate - (time.monotonic() - began)))
                if options.cut_in is not None and came >= options.cut_in:
                    return went
                if (options.stall_at_list or options.cut_at_list is not None) and requests.list is not None:
                    data = data[:wanted]
                    del ends[0]
            else:
                went += len(data)
                if options.cut_out is not None and went >= options.cut_out:
                    return went
            write_all(to, data)
            if options.cut_at_list is not None and requests.list is not None and os.path.exists(requests.list):
                open(options.cut_at_list, "xb").close()
                return went


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("log")
    parser.add_argument("--cut-in", type=int)
    parser.add_argument("--cut-out", type=int)
    parser.add_argument("--stall-in", type=int)
    parser.add_argument("--until")
    parser.add_argument("--stall-at-list", action="store_true")
    parser.add_argument("--cut-at-list")
    parser.add_argument("--for-good", action="store_true")
    parser.add_argument("--rate", type=int)
    parser.add_argument("--uid", type=int)
    parser.add_argument("--umask", type=lambda text: int(text, 8), default=0o22)
    options = parser.parse_args()
    os.umask(options.umask)
    after_cut = options.cut_at_list is not None and os.path.exists(options.cut_at_list)
    if after_cut:
        options.cut_at_list = None
        options.cut_in = 0 if options.for_good else None
    program = next(p for p in PLACES if os.access(p, os.X_OK))
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    child = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=options.uid)
    requests = Requests()
    went = 0
    try:
        went = pump(child, options, requests)
    except OSError:
        pass
    child.kill()
    child.wait()
    line = json.dumps({"requests": requests.counts, "written": requests.written, "sent_back": went,
                       "after_cut": after_cut})
    with open(options.log, "a", encoding="utf-8") as log:
        log.write(line + "\n")


sys.exit(main())
