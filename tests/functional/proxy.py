#!/usr/bin/env python3
# proxy.py - a proxy between a worker and ludwigd that records the worker's reports
"""usage: proxy.py LISTEN TARGET LOG

To cut the connection, kill this proxy; once it is started again the worker can reconnect.
LOG gets a JSON object for each report (token, event, winner, seq, reason) and one for each
of ludwigd's verdicts.
"""

import json
import os
import socket
import sys
import threading
from functools import partial

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import raw

lock = threading.Lock()


def note(log, data):
    message = raw.unpack(data)
    if message["type"] in ("report", "verdicts"):
        body = message["body"]
        with lock, open(log, "a") as out:
            for each in body.get("reports", []) + body.get("verdicts", []):
                line = {name: value.hex() if isinstance(value, bytes) else value
                        for name, value in each.items()
                        if name in ("token", "winner", "event", "verdict", "seq", "reason")}
                out.write(json.dumps(line) + "\n")
    return data


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
            threading.Thread(target=raw.relay, args=(source, sink, partial(note, log)), daemon=True).start()


main()
