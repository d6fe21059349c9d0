#!/usr/bin/env python3
# attack.py - attacks of one user on others, as raw messages and files
"""usage: attack.py SCENARIO ARGUMENT...

SCENARIO: the name of a function below."""

import json
import os
import sys

import raw
from raw import Ended, Peer, frame, pack, random_id, register, unpack

ME = os.getuid()


def kinds(peer, requests):
    """Sends each request; returns {request: the error's kind, or the reply's type}."""
    answers = {}
    for kind, body, request_id in requests:
        answer = peer.ask(kind, body, request_id)
        answers[kind] = answer["kind"] if answer["type"] == "error" else answer["type"]
    return answers


def all_denied(answers):
    assert set(answers.values()) == {"denied"}, answers


def all_allowed(answers):
    assert not {"denied", "usage", "protocol", "not-found"} & set(answers.values()), answers


# ---- through the socket ----

def secret(path, sweep, word):
    """No reply about another user's private sweep contains the word."""
    peer = Peer(path).hello()
    said = b""
    for kind, body in (("get_jobs", {"sweep": sweep, "limit": 100}),
                       ("get_results", {"sweep": sweep, "limit": 100}),
                       ("ask_why", {"sweep": sweep, "job": 1}),
                       ("subscribe", {"sweep": sweep, "jobs": True}),
                       ("get_sweeps", {"limit": 100}),
                       ("get_usage", {"limit": 100})):
        answer = peer.ask(kind, body)
        print(kind, answer)
        assert word.encode() not in pack(answer), kind
        said += pack(answer)
    # Every user may see that the sweep exists, and its progress.
    assert peer.ask("get_sweeps", {"sweep": sweep})["sweeps"][0]["sweep"] == sweep


def told(path, sweep, word):
    """The owner's reply contains the word; otherwise `secret` would show nothing."""
    answer = Peer(path).hello().ask("get_jobs", {"sweep": sweep, "limit": 100})
    assert word.encode() in pack(answer), answer


def changes(path, sweep, label=None):
    peer = Peer(path)
    hello = {"version": 1, "program": "ludwig", "host": "here"}
    if label:
        hello["user_label"] = label
    assert peer.ask("hello", hello)["type"] == "welcome"
    target = {"targets": [{"sweep": sweep}]}
    one = {"targets": [{"sweep": sweep, "first": 1, "last": 1}]}
    for targets in target, one:
        all_denied(kinds(peer, [("cancel", targets, random_id()), ("cancel", {**targets, "drain": True}, random_id()),
                                ("pause", targets, random_id()), ("resume", targets, random_id()),
                                ("retry", targets, random_id())]))


def may_change(path, sweep):
    """The owner is allowed the changes that are denied above, of which this tries those that do not end the sweep."""
    target = {"targets": [{"sweep": sweep}]}
    all_allowed(kinds(Peer(path).hello(), [("pause", target, random_id()), ("resume", target, random_id())]))


def drains(node):
    return [("drain", {"nodes": [node]}, random_id()), ("drain", {"nodes": [node], "undo": True}, random_id())]


def administers(path, node):
    all_denied(kinds(Peer(path).hello(), drains(node) + [("shutdown", {"workers": True}, random_id()),
                                                         ("shutdown", {}, random_id())]))


def may_administer(path, node):
    all_allowed(kinds(Peer(path).hello(), drains(node)))


def submits(path, project):
    """A submit to another user's project is denied."""
    answer = begins(path, project)
    assert answer["type"] == "error" and answer["kind"] == "denied", answer


def may_submit(path, project):
    answer = begins(path, project)
    assert answer["type"] == "submit_open", answer


def begins(path, project):
    return Peer(path).hello().ask("submit_begin", {"project": project, "reps": 1, "work": raw.WORK}, random_id())


def climbs(path):
    """Names of projects whose folder would lie outside the projects' folder, or in ludwigd's own, are refused."""
    for project in ("../evil", "..", ".", "/tmp/evil", "a/../../evil", ".ludwig", ".ludwig/inbox", "a/b", "", "evil\n",
                    "evil/", "x" * 300, "nul\0l"):
        peer = Peer(path).hello()
        try:
            answer = peer.ask("submit_begin", {"project": project, "reps": 1, "work": raw.WORK}, random_id())
        except Ended:
            continue
        assert answer["type"] == "error", (project, answer)


def works(path, own_sweep):
    """A worker that registers with room for all jobs is given only jobs of its own user."""
    peer = register(Peer(path).hello("ludwig-worker"), "node1-too", cpus=1000)
    given = []
    try:
        while True:
            message = peer.receive()
            print(message)
            if message["type"] == "hand":
                given += [work["sweep"] for work in message["body"]["sweeps"]]
                peer.send("took", {"hand": message["body"]["hand"]}, re=message["seq"])
                # ludwigd looked at all queued jobs for this hand; another hand would follow at once.
                peer.sock.settimeout(1)
    except (TimeoutError, Ended):
        pass
    assert set(given) == {int(own_sweep)}, given


EVENTS = "run", "end", "done", "fail", "cancel", "supersede", "lose", "recall", "withdraw"


def registering(peer, attempts, worker=None, node="node1-too"):
    return peer.ask("register", {"worker": worker or random_id(), "incarnation": random_id(), "boot_id": "boot-1",
                                 "node": node, "kind": "node", "cpus_milli": 1000, "gpus": 0,
                                 "memory_bytes": 1 << 30, "attempts": attempts})


def holding(token):
    return [{"token": bytes.fromhex(token), "state": "running", "started_at": 1}]


def report_on(peer, token, event):
    """Sends a worker's report about an attempt; returns the verdict, or the kind of error."""
    report = {"token": bytes.fromhex(token), "seq": 1000, "event": event, "cause": "failed", "exit_code": 1}
    answer = peer.ask("report", {"reports": [report]})
    print(event, answer)
    return answer["verdicts"][0]["verdict"] if answer["type"] == "verdicts" else answer["kind"]


def tells(path, token):
    """Reports about an attempt that another worker has; none may count."""
    for event in "run", "end", "done", "fail", "cancel", "supersede", "lose", "recall", "withdraw":
        peer = Peer(path).hello("ludwig-worker")
        registering(peer, [])
        try:
            assert report_on(peer, token, event) in ("superseded", "not-found", "usage", "protocol"), event
        except Ended:
            pass


def may_tell(path, token, worker):
    """A report counts that comes under the name of the attempt's worker, from that worker's account."""
    peer = Peer(path).hello("ludwig-worker")
    answer = registering(peer, holding(token), bytes.fromhex(worker), "node1")
    assert answer["type"] == "registered" and not answer.get("stop"), answer
    assert report_on(peer, token, "fail") == "taken"


def claims(path, token, worker):
    """Registers with an attempt that another worker has: under an own name, then under that worker's name."""
    answer = registering(Peer(path).hello("ludwig-worker"), holding(token))
    assert answer["type"] == "registered" and answer["stop"], answer
    answer = registering(Peer(path).hello("ludwig-worker"), holding(token), bytes.fromhex(worker), "node1")
    assert answer["type"] == "error" and answer["kind"] == "denied", answer


# ---- through files: see common/connect/file_request.h ----

def request(share, conn, data, no=0, **other):
    with open(os.path.join(share, ".ludwig/id")) as f:
        server = json.load(f)
    return pack({"v": 2, "server": server["server"], "incarnation": bytes.fromhex(server["incarnation"]), "conn": conn,
                 "no": no, "data": data, **other})


def hello():
    return frame({"type": "hello", "seq": 1, "body": {"version": 1, "program": "ludwig", "host": "here"}})


def cancelling(sweep):
    return hello() + frame({"type": "cancel", "seq": 2, "id": random_id(), "body": {"targets": [{"sweep": int(sweep)}]}})


def write_request(share, path, sweep):
    """Writes a request to cancel a sweep to `path`; prints the name that it needs in an inbox."""
    conn = random_id()
    with open(path, "wb") as f:
        f.write(request(share, conn, cancelling(sweep)))
    print(conn.hex() + ".0")


def put(folder, name, data, mode=0o600):
    temporary = os.path.join(folder, "." + name)
    with open(temporary, "wb") as f:
        f.write(data)
    os.chmod(temporary, mode)
    os.rename(temporary, os.path.join(folder, name))


def answers_to(share, conn, n):
    """Returns the first n messages from ludwigd on this connection."""
    data = b""
    messages = []
    for k in range(100):
        path = os.path.join(share, ".ludwig/outbox", "%d.%s.%d" % (ME, conn.hex(), k))
        raw.wait_until(lambda: os.path.exists(path), path)
        with open(path, "rb") as f:
            answer = unpack(f.read())
        assert answer.get("why") is None, answer
        data += answer.get("data", b"")
        while len(data) >= 4 and len(data) >= 4 + int.from_bytes(data[:4], "big"):
            end = 4 + int.from_bytes(data[:4], "big")
            messages.append(unpack(data[4:end]))
            data = data[end:]
        if len(messages) >= n:
            return messages
        put(os.path.join(share, ".ludwig/inbox", str(ME)), "%s.%d" % (conn.hex(), k + 1),
            request(share, conn, b"", no=k + 1))


def through_own_inbox(share, data, n):
    """Sends data through the user's own inbox; returns the n-th message from ludwigd.  Does not end the connection."""
    conn = random_id()
    put(os.path.join(share, ".ludwig/inbox", str(ME)), conn.hex() + ".0", request(share, conn, data))
    return answers_to(share, conn, n)[n - 1]


def greets(share):
    """A hello through the user's own inbox is answered."""
    answer = through_own_inbox(share, hello(), 1)
    assert answer["type"] == "welcome" and answer["body"]["uid"] == ME, answer


def cancels(share, sweep):
    """The request that others forge counts if it comes from the sweep's owner."""
    answer = through_own_inbox(share, cancelling(sweep), 2)
    assert answer["type"] != "error" and answer["re"] == 2, answer


def may_not_cancel(share, sweep):
    answer = through_own_inbox(share, cancelling(sweep), 2)
    assert answer["type"] == "error" and answer["body"]["kind"] == "denied", answer


def rubbish(share):
    """Puts files that are no requests into the user's own inbox, under names of requests and other names."""
    inbox = os.path.join(share, ".ludwig/inbox", str(ME))
    conns = [random_id() for _ in range(16)]
    names = iter(conn.hex() + ".0" for conn in conns)
    good = request(share, conns[0], hello())
    put(inbox, next(names), b"")
    put(inbox, next(names), os.urandom(5000))
    put(inbox, next(names), good[:-1])
    put(inbox, next(names), good + b"x")
    put(inbox, next(names), request(share, conns[5], b"GET / HTTP/1.1\r\n\r\n"))
    put(inbox, next(names), request(share, conns[5], b"\xff" * 4000))
    put(inbox, next(names), request(share, random_id(), hello()))
    put(inbox, next(names), request(share, conns[7], hello(), v=99))
    put(inbox, next(names), request(share, conns[8], hello(), no=1 << 62))
    put(inbox, next(names), bytes(1200 * 1024))
    with open(os.path.join(inbox, next(names)), "wb") as f:
        f.truncate(1 << 40)
    os.mkdir(os.path.join(inbox, next(names)))
    os.mkfifo(os.path.join(inbox, next(names)))
    os.symlink("/dev/zero", os.path.join(inbox, next(names)))
    os.symlink("/etc/shadow", os.path.join(inbox, next(names)))
    put(inbox, "not a name", b"x")
    put(inbox, "x" * 250, b"x")
    os.makedirs(os.path.join(inbox, "a/b/c"))


def crowd(share, n):
    """Begins very many connections and abandons them."""
    inbox = os.path.join(share, ".ludwig/inbox", str(ME))
    for _ in range(int(n)):
        conn = random_id()
        with open(os.path.join(inbox, conn.hex() + ".0"), "wb") as f:
            f.write(request(share, conn, hello()))


def main():
    scenario, *arguments = sys.argv[1:]
    globals()[scenario](*[int(a) if a.isdigit() else a for a in arguments])


main()
