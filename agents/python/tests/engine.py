"""A small engine, and small projects for it: what the tests of the agent stand on.

It listens on a socket, starts the agent, asks for runs and keeps all it is told, in the order in
which it came. It checks the protocol as strictly as the real one: token, version, one key a frame,
valid UTF-8.
"""

import functools
import json
import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import textwrap
import unittest

AGENT = os.path.join(os.path.dirname(__file__), "..", "unflake_agent", "__main__.py")
ALL = ["tree", "home", "pid", "net"]
PATIENCE = 60


class Run:
    """What was said about one run."""

    def __init__(self, number, scratch):
        self.number = number
        self.scratch = scratch
        self.hellos = []
        self.messages = []
        self.forked = None
        self.exited = None
        self.open = 0

    def all(self, name):
        return [body for key, body in self.messages if key == name]

    @property
    def isolated(self):
        return self.all("isolated")[0]

    @property
    def ends(self):
        return self.all("end")

    @property
    def outcomes(self):
        return [end["outcome"] for end in self.ends]

    @property
    def is_done(self):
        return bool(self.all("done"))


class Engine:
    """Starts an agent in a folder and talks to it."""

    def __init__(self, folder, arguments=(), runner="pytest", env=None, python=()):
        self.folder = tempfile.mkdtemp(prefix="unflake-engine-")
        self.path = os.path.join(self.folder, "s")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(50)
        self.buffers = {}
        self.owners = {}
        self.server = None
        self.said = []
        self.hello = None
        self.runs = {}
        self.process = subprocess.Popen(
            [sys.executable, *python, AGENT, self.path, "secret", runner, "--", *arguments],
            cwd=folder,
            env=environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.until(lambda: self.said)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def collected(self):
        name, body = self.said[0]
        assert name == "collected", self.said[0]
        return body

    @property
    def failed(self):
        name, body = self.said[0]
        assert name == "failed", self.said[0]
        return body

    @property
    def ids(self):
        return [test["id"] for test in self.collected["tests"]]

    def start(self, order, twice=False, isolation=(), **more):
        """Asks for a run, by test ids (or the ends of them) or numbers."""
        number = len(self.runs) + 1
        scratch = os.path.join(self.folder, f"run-{number}")
        os.mkdir(scratch)
        run = self.runs[number] = Run(number, scratch)
        self.say(
            "run",
            run=number,
            order=[self.index(test) for test in order],
            twice=twice,
            isolation=list(isolation),
            scratch=scratch,
            **more,
        )
        return run

    def run(self, order, twice=False, isolation=(), **more):
        """Asks for a run, and waits for its end."""
        run = self.start(order, twice, isolation, **more)
        self.wait(run)
        return run

    def wait(self, run):
        self.until(lambda: (run.exited or self.server is None) and run.hellos and not run.open)

    def whole(self, **how):
        return self.run(range(len(self.ids)), **how)

    def index(self, test):
        if isinstance(test, int):
            return test
        found = [n for n, name in enumerate(self.ids) if name.endswith(test)]
        assert len(found) == 1, (test, self.ids)
        return found[0]

    def say(self, name, **body):
        data = json.dumps({name: body}).encode()
        self.server.sendall(struct.pack(">I", len(data)) + data)

    def until(self, condition):
        while not condition():
            channels = [self.listener, *self.buffers]
            ready, _, _ = select.select(channels, [], [], PATIENCE)
            assert ready, f"the agent is silent: {self.said[-3:]}"
            for channel in ready:
                if channel is self.listener:
                    self.buffers[channel.accept()[0]] = b""
                else:
                    self.read(channel)

    def read(self, channel):
        try:
            data = channel.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        if not data:
            return self.closed(channel)
        buffer = self.buffers[channel] + data
        while len(buffer) >= 4 and len(buffer) >= 4 + struct.unpack(">I", buffer[:4])[0]:
            end = 4 + struct.unpack(">I", buffer[:4])[0]
            ((name, body),) = json.loads(buffer[4:end].decode("utf-8")).items()
            json.dumps([name, body], ensure_ascii=False).encode("utf-8")
            self.told(channel, name, body)
            buffer = buffer[end:]
        self.buffers[channel] = buffer

    def closed(self, channel):
        del self.buffers[channel]
        if channel is self.server:
            self.server = None
        elif channel in self.owners:
            self.owners.pop(channel).open -= 1
        channel.close()

    def told(self, channel, name, body):
        if name == "hello":
            assert (body["version"], body["token"]) == (1, "secret"), body
            if body["role"] == "server":
                self.server, self.hello = channel, body
            else:
                run = self.owners[channel] = self.runs[body["run"]]
                run.hellos.append(body)
                run.open += 1
        elif channel is self.server:
            self.said.append((name, body))
            if name in ("forked", "exited"):
                setattr(self.runs[body["run"]], name, body)
        else:
            self.owners[channel].messages.append((name, body))

    def stop(self):
        if self.server is not None:
            try:
                self.say("stop")
            except OSError:
                pass
        try:
            self.output = self.process.communicate(timeout=PATIENCE)
        finally:
            self.process.kill()
            for channel in [self.listener, *self.buffers]:
                channel.close()
            shutil.rmtree(self.folder, ignore_errors=True)


def environment(extra=None):
    """Ours, without what would hide faults (bytecode is written by default) or add options."""
    env = dict(os.environ)
    for name in list(env):
        if name.startswith("PYTEST") or name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPATH"):
            del env[name]
    env.update(extra or {})
    return env


@functools.lru_cache(maxsize=None)
def permitted():
    """The levels of isolation this system permits; each other one must be refused with a reason."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "test_a.py"), "w") as file:
            file.write("def test_a(): pass")
        with Engine(folder) as engine:
            told = engine.whole(isolation=ALL).isolated
    assert all(refusal["why"] for refusal in told["refused"]), told
    assert sorted(told["applied"] + [r["level"] for r in told["refused"]]) == sorted(ALL), told
    return frozenset(told["applied"])


def only_where_permitted(*levels):
    """For tests of what isolation does; where it is refused, that it says so was checked."""

    def decorate(test):
        @functools.wraps(test)
        def decorated(case):
            if permitted().issuperset(levels):
                test(case)

        return decorated

    return decorate


class ProjectCase(unittest.TestCase):
    """Writes a project into a folder of its own, away from HOME and from any repository."""

    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="unflake-project-"))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def write(self, **files):
        """``write(test_a="…")``; two underscores are a slash."""
        for name, content in files.items():
            self.write_file(name.replace("__", "/") + ".py", content)

    def write_file(self, name, content):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(content))

    def engine(self, *arguments, **how):
        engine = Engine(self.folder, arguments, **how)
        self.addCleanup(engine.stop)
        return engine

    def tree(self):
        """All files of the project with their contents."""
        found = {}
        for folder, folders, files in os.walk(self.folder):
            for name in folders:
                found[os.path.relpath(os.path.join(folder, name), self.folder)] = None
            for name in files:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, self.folder)] = file.read()
        return found
