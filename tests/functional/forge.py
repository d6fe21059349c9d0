#!/usr/bin/env python3
# forge.py - a proxy between a client and ludwigd that changes ludwigd's replies
"""usage: forge.py LISTEN TARGET FORGERY

FORGERY: the name of the function below that changes each reply."""

import os
import socket
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import raw


def jobs_of(message):
    return message["body"]["jobs"] if message["type"] == "job_page" else []


def nameless(message):
    for job in jobs_of(message):
        del job["param_name"], job["job_name"]


def outside(message):
    for job in jobs_of(message):
        job["param_name"] = "../../.."


def shouting(message):
    """The job's number becomes an escape sequence for the terminal."""
    if message["type"] == "why":
        message["body"]["job"]["job"] = "\x1b]0;owned\x07"


pages = {}


def endless(message):
    """Every page becomes the first one of its type, with more to come."""
    if message["type"].endswith("_page"):
        page = pages.setdefault(message["type"], message["body"])
        message["body"] = {**page, "next": 1, "more": True}


def main():
    path, target, forgery = sys.argv[1:]

    def forged(data):
        message = raw.unpack(data)
        globals()[forgery](message)
        return raw.pack(message)

    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    while True:
        client, _ = listener.accept()
        server = socket.socket(socket.AF_UNIX)
        server.connect(target)
        for relayed in (client, server, bytes), (server, client, forged):
            threading.Thread(target=raw.relay, args=relayed, daemon=True).start()


main()
