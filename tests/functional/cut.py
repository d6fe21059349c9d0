#!/usr/bin/env python3
# cut.py - a proxy between a client and ludwigd that cuts the first connection, or changes messages
"""usage: cut.py LISTEN TARGET up|down N
       cut.py LISTEN TARGET lie N OLD NEW

The first connection is cut after N frames to ludwigd (up) or to the client (down); later
connections are not cut.  With lie, OLD is replaced by NEW, which has the same length, in the
frames for the client, except in the first N that contain OLD.
"""

import os
import socket
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import raw


def cut(limit):
    """Returns a function for raw.relay that cuts the connection after `limit` frames."""
    left = limit

    def passed(data):
        nonlocal left
        if left == 0:
            raise OSError("cut")
        left -= 1
        return data
    return passed


def lie(truths, old, new):
    """Returns a function for raw.relay that replaces old by new after `truths` frames with old."""
    left = truths

    def told(data):
        nonlocal left
        left -= old in data
        return data.replace(old, new) if left < 0 else data
    return told


def main():
    listen, target, direction, n = sys.argv[1:5]
    server = socket.socket(socket.AF_UNIX)
    server.bind(listen + ".new")
    server.listen(8)
    os.rename(listen + ".new", listen)
    is_lie = direction == "lie"
    changes = {"down": lie(int(n), *map(os.fsencode, sys.argv[5:]))} if is_lie else {direction: cut(int(n))}
    while True:
        client = server.accept()[0]
        behind = socket.socket(socket.AF_UNIX)
        behind.connect(target)
        for source, sink, way in (client, behind, "up"), (behind, client, "down"):
            relayed = source, sink, changes.get(way, bytes)
            threading.Thread(target=raw.relay, args=relayed, daemon=True).start()
        changes = changes if is_lie else {}


main()
