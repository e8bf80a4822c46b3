"""Runs the commands of transcripts/*.txt and compares standard output, standard error and exit status to the letter.

Steps of a transcript:

    # TEXT     a comment
    file NAME  a file in the scratch folder; its content is in the lines that follow, each behind a "|"
    answer METHOD /PATH [STATUS]
               what the service answers to that request; the document is in the lines that follow, each behind a "|";
               "@ago(N)" in it is the time N seconds ago
    ask        from here on the requests of a command are shown in its output, as "> METHOD /path?query body"
    env NAME=VALUE  a variable of the environment, until the next `new`
    input      the standard input of the next command, in the lines that follow, each behind a "|"
    only N     of the next command, shows the first N lines of standard output: what follows belongs to other tests
    new        forgets answers, variables and `ask`; files stay
    $ WORDS    a command; what it prints follows: "|" standard output, "!" standard error, ">" requests, and "= N" its
               exit status, where it is not 0

DATA is the folder tests/data; in the output DIR is the scratch folder and URL the service.

  test_transcripts.py --record   writes what the commands print now into the files. Read the difference: whatever is
                                 recorded is what the test demands from then on.
"""

import datetime
import json
import os
import pathlib
import re
import shlex
import sys

import support
from stub import Stub

sys.path.insert(0, os.path.join(support.ROOT, "tests/support"))
import transcript  # noqa: E402

FOLDER = pathlib.Path(__file__).with_name("transcripts")
DATA = os.path.join(support.ROOT, "tests/data")
NOW = datetime.datetime.now(datetime.timezone.utc)
RECORD = "--record" in sys.argv


class Transcripts(support.Case):
    maxDiff = None

    def ago(self, match):
        """The time of an "@ago(N)"; output that has it, or its minute, gets the "@ago(N)" back."""
        then = NOW - datetime.timedelta(seconds=int(match.group(1)))
        self.names[then.strftime("%Y-%m-%dT%H:%M:%SZ")] = self.names[then.strftime("%Y-%m-%d %H:%M")] = match.group()
        return then.strftime("%Y-%m-%dT%H:%M:%SZ")

    def command(self, words):
        """A command's output in the form of a transcript."""
        self.stub.calls.clear()
        words = [word.replace("DATA/", DATA + "/") for word in shlex.split(words)]
        done = self.perfci(*words, text=self.input, cwd=self.path("work"), env=self.variables)
        lines = transcript.shown("|", done.stdout, self.names)[:self.only]
        self.input = self.only = None
        calls = [f"> {method} {path}{' ' + json.dumps(body) if body is not None else ''}" for method, path, body in self.stub.calls]
        status = [f"= {done.returncode}"] if done.returncode else []
        return [*(transcript.shown("", "\n".join(calls), self.names) if self.asks else []),
                *lines, *transcript.shown("!", done.stderr, self.names), *status]

    def step(self, head, body):
        word, _, rest = head.partition(" ")
        content = transcript.content(body)
        if word == "file":
            self.write(f"work/{rest}", content + "\n")
        elif word == "answer":
            method, path, *status = rest.split()
            content = re.sub(r"@ago\((\d+)\)", self.ago, content)
            self.stub.answers[method, path] = (int(status[0]) if status else 200, json.loads(content))
        elif word == "ask":
            self.asks = True
        elif word == "only":
            self.only = int(rest)
        elif word == "input":
            self.input = content + "\n"
        elif word == "env":
            self.variables.update([rest.split("=", 1)])
        elif word == "new":
            self.stub.answers, self.variables, self.asks, self.input, self.only = {}, {}, False, None, None
        elif word == "$":
            return self.command(rest)
        else:
            self.assertTrue(not head or word == "#", f"expected a step of a transcript, got {head!r}")
        return None

    def play(self, path):
        self.stub = Stub({})
        self.addCleanup(self.stub.close)
        self.names = {DATA: "DATA", self.dir: "DIR", self.stub.url: "URL"}
        self.env.update(PERFCI_URL=self.stub.url, COLUMNS="200")
        self.write("work/empty", "")
        self.step("new", [])
        transcript.play(self, path, self.step, RECORD)


def one_of(path):
    return lambda self: self.play(path)


for name in sorted(FOLDER.glob("*.txt")):
    setattr(Transcripts, f"test_{name.stem}", one_of(name))

if __name__ == "__main__":
    support.unittest.main(verbosity=2, argv=[a for a in sys.argv if a != "--record"], failfast=not RECORD)
