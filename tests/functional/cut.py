#!/usr/bin/env python3
# cut.py - a proxy between a client and ludwigd that cuts the first connection, or changes messages
"""usage: cut.py LISTEN TARGET up|down N

The first connection ends when N frames have gone up to ludwigd, or down to the client;
all later ones last.
"""

import os
import socket
import struct
import sys
import threading


def pump(source, sink, limit):
    pending, n = b"", 0
    try:
        while data := source.recv(65536):
            pending += data
            while len(pending) >= 4 and len(pending) >= 4 + struct.unpack(">I", pending[:4])[0]:
                end = 4 + struct.unpack(">I", pending[:4])[0]
                if n == limit:
                    raise OSError("cut")
                sink.sendall(pending[:end])
                pending, n = pending[end:], n + 1
    except OSError:
        pass
    for each in source, sink:
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def main():
    listen, target, direction, limit = sys.argv[1:]
    server = socket.socket(socket.AF_UNIX)
    server.bind(listen + ".new")
    server.listen(8)
    os.rename(listen + ".new", listen)
    limits = {direction: int(limit)}
    while True:
        client = server.accept()[0]
        behind = socket.socket(socket.AF_UNIX)
        behind.connect(target)
        for source, sink, way in (client, behind, "up"), (behind, client, "down"):
            threading.Thread(target=pump, args=(source, sink, limits.get(way)), daemon=True).start()
        limits = {}


main()
