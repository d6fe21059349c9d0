"""Counts to n, a step at a time, and goes on where it was when its place was taken away."""

import json
import os
import signal
import sys
import time

CHECKPOINT = os.path.join(os.environ["LUDWIG_CHECKPOINT"], "state.json")
# Any code but 0: what ends well is done, and does not go on.
NOT_DONE = 75

is_asked = False


def ask(_signal, _frame):
    global is_asked
    is_asked = True


def load():
    try:
        with open(CHECKPOINT) as f:
            return json.load(f)
    except FileNotFoundError:
        return {"step": 0, "sum": 0}


def save(state):
    """Under another name first: whoever copies it, or comes after a crash, finds a whole one."""
    with open(CHECKPOINT + ".new", "w") as f:
        json.dump(state, f)
        f.flush()
        os.fsync(f.fileno())
    os.rename(CHECKPOINT + ".new", CHECKPOINT)


def main():
    with open(os.environ["LUDWIG_PARAM2VAL"]) as f:
        params = json.load(f)
    # checkpoint: names the first; the second is all the warning that some partitions give.
    signal.signal(signal.SIGUSR1, ask)
    signal.signal(signal.SIGTERM, ask)
    state = load()
    print("from", state["step"], flush=True)
    while state["step"] < params["n"]:
        time.sleep(params["seconds"])
        state["step"] += 1
        state["sum"] += state["step"]
        print("step", state["step"], flush=True)
        if is_asked:
            save(state)
            sys.exit(NOT_DONE)
        if state["step"] % params["save_every"] == 0:
            save(state)
    with open(os.path.join(os.environ["LUDWIG_SAVE_PATH"], "sum"), "w") as f:
        print(state["sum"], file=f)


main()
