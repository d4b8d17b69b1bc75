"""A runner of its own kind. Its tests are named in a file; the first word of a name says what a test
does, the rest tells it from others."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from xml.sax.saxutils import quoteattr

STATE = []
LOADED = []
DIARY = []
SEEN = []
LEFT = "left.txt"
PIPE = "alive"


class Skipped(Exception):
    pass


class Broken(Exception):
    pass


def perform(name):
    word = name.split("::")[-1].split(" ")[0]
    if word == "fails":
        raise AssertionError("1 != 2")
    if word == "skipped":
        raise Skipped("said aloud")
    if word == "broken":
        raise Broken("no set-up")
    if word == "writes-diary":
        DIARY.append(name.split(" ")[-1])
        raise AssertionError("diary [%s]" % " ".join(DIARY))
    if word == "loads":
        LOADED.append(name)
    if word == "loaded":
        assert LOADED, "nothing is loaded"
    if word == "spoils-itself":
        SEEN.append(name)
        assert len(SEEN) == 1, "seen before"
    if word == "pollutes":
        STATE.append(name)
    if word == "cleans":
        STATE.clear()
    if word == "victim":
        assert not STATE, "polluted by " + ", ".join(STATE)
    if word == "brittle":
        assert STATE, "nobody was here"
    if word == "once":
        assert name not in STATE, "it ran before"
        STATE.append(name)
    if word == "writes":
        open(LEFT, "w").close()
        open(os.path.join(os.path.expanduser("~"), LEFT), "w").close()
    if word == "finds":
        assert not os.path.exists(LEFT), "there is a file"
    if word == "hangs":
        if os.path.exists(PIPE):
            os.write(os.open(PIPE, os.O_WRONLY), b"x")
        while True:
            signal.pause()
    if word == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1000)
    if word == "segv":
        sys.stderr.write("last words\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGSEGV)
    if word == "exits":
        os._exit(3)
    if word == "prints":
        print("written to standard output", flush=True)
        print("written to standard error", file=sys.stderr, flush=True)
        raise AssertionError("said aloud")
    if word == "floods":
        sys.stdout.write("x" * 5000000)
    if word == "strays":
        # In a session of its own, with our streams open.
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
    if word == "first":
        assert os.getpid() < 20, os.getpid()
    if word == "connects":
        with socket.create_server(("127.0.0.1", 4242)) as server:
            socket.create_connection(server.getsockname()).close()
    if word == "temporary":
        assert os.path.isdir(os.environ["TMPDIR"]), "no folder"
        assert not os.listdir(os.environ["TMPDIR"]), "not empty"
    if word == "variable":
        assert os.environ["GIVEN"] == "a b", os.environ["GIVEN"]


def attempt(name):
    try:
        perform(name)
        return "passed", ""
    except Skipped as reason:
        return "skipped", str(reason)
    except Broken as fault:
        return "error", str(fault)
    except AssertionError as fault:
        return "failed", str(fault)


def junit(results):
    def case(name, outcome, said):
        group, _, last = name.rpartition("::")
        inner = {"failed": "<failure message=%s>at t.py</failure>", "error": "<error message=%s/>",
                 "skipped": "<skipped message=%s/>"}
        body = inner[outcome] % quoteattr(said) if outcome in inner else ""
        return "<testcase classname=%s name=%s time='0.25'>%s</testcase>" % (
            quoteattr(group), quoteattr(last), body)
    return "<testsuite>%s</testsuite>" % "".join(case(*result) for result in results)


def ctrf(results):
    tests = [dict(name=n, status=s, duration=250, message=m) for n, s, m in results]
    return json.dumps({"results": {"tests": tests}})


def point(number, name, outcome, said):
    line = "%s %d - %s" % ("not ok" if outcome == "failed" else "ok", number, name)
    if outcome == "skipped":
        line += " # SKIP " + said
    if outcome == "failed":
        line += "\n# " + said
    return line


def main(arguments):
    options = [word for word in arguments if word.startswith("--") and "=" in word]
    options = dict(word[2:].split("=", 1) for word in options)
    names = [word for word in arguments if not word.startswith("--")]
    with open("tests.txt", encoding="utf-8") as file:
        known = file.read().splitlines()
    if "--list" in arguments:
        print("\n".join(known))
        return 0
    if "--reset" in arguments:
        if os.path.exists(LEFT):
            os.remove(LEFT)
        return 0
    if "joined" in options:
        names = options["joined"].split("|")
    if "list" in options:
        with open(options["list"], encoding="utf-8") as file:
            names = file.read().splitlines()
    if "own-order" in options:
        names.sort(key=known.index)
    results = []
    form = options.get("form", "tap")
    if form == "tap" and "report" not in options:
        print("1..%d" % len(names), flush=True)
    for number, name in enumerate(names, 1):
        if "says" in options:
            print("RUN " + name, flush=True)
        if name == options.get("leave-out"):
            continue
        results.append((name,) + attempt(name))
        if name == options.get("twice"):
            results.append(results[-1])
        if form == "tap" and "report" not in options:
            print(point(number, *results[-1]), flush=True)
        if results[-1][1] == "failed" and "fail-fast" in options:
            break
    text = {"junit": junit, "ctrf": ctrf, "exit": lambda results: ""}.get(form, lambda results: "")(results)
    if form == "tap" and "report" in options:
        text = "\n".join(point(n, *result) for n, result in enumerate(results, 1))
    if "report" in options:
        with open(options["report"], "w", encoding="utf-8") as file:
            file.write(text)
    elif text:
        print(text)
    return 1 if any(outcome in ("failed", "error") for _, outcome, _ in results) else 0


sys.exit(main(sys.argv[1:]))
