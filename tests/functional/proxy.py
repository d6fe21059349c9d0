#!/usr/bin/env python3
# proxy.py - a proxy between a worker and ludwigd that records the worker's reports
"""usage: proxy.py LISTEN TARGET LOG

Killing it cuts the connection, starting it again lets the worker reach ludwigd again.
LOG gets one JSON object for each report: event, token, winner, and ludwigd's verdict.
"""

import json
import os
import socket
import struct
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import raw

lock = threading.Lock()


def note(log, message):
    body = message["body"]
    with lock, open(log, "a") as out:
        for each in body.get("reports", []) + body.get("verdicts", []):
            line = {name: value.hex() if isinstance(value, bytes) else value
                    for name, value in each.items()
                    if name in ("token", "winner", "event", "verdict", "seq", "reason")}
            out.write(json.dumps(line) + "\n")


def pump(source, sink, log):
    pending = b""
    try:
        while data := source.recv(65536):
            pending += data
            while len(pending) >= 4 and len(pending) >= 4 + struct.unpack(">I", pending[:4])[0]:
                n = 4 + struct.unpack(">I", pending[:4])[0]
                message = raw.unpack(pending[4:n])
                if message["type"] in ("report", "verdicts"):
                    note(log, message)
                pending = pending[n:]
            sink.sendall(data)
    except OSError:
        pass
    for each in source, sink:
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def main():
    path, target, log = sys.argv[1:]
    if os.path.exists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    while True:
        worker, _ = listener.accept()
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(target)
        except OSError:
            worker.close()
            continue
        for source, sink in (worker, server), (server, worker):
            threading.Thread(target=pump, args=(source, sink, log), daemon=True).start()


main()
