"""Runs the commands of transcripts/*.txt and compares standard output, standard error and exit status to the letter.

Steps of a transcript:

    # TEXT     a comment
    file NAME  a file in the scratch folder; its content is in the lines that follow, each behind a "|"
    answer METHOD /PATH [STATUS]
               what the service answers to that request; the document is in the lines that follow, each behind a "|";
               "@ago(N)" in it is the time N seconds ago
    then METHOD /PATH
               what it answers to that request later, when the answers before were given; the last one stays
    repo NAME  a new Git repository in the scratch folder, in which the commands run from here on
    git WORDS  of Git in that folder; dates and authors are always the same, so that ids are;
               {rev:NAME} in later steps is a commit's id
    program NAME  a shell script of that name, in the lines that follow, each behind a "|"; until the next `new` only
               these are on PATH
    show NAME  a file of the scratch folder that a command has written; its content follows, as that of a command
    mask REGEX NAME  what matches is shown as NAME, in requests too, until the next `new`
    ask        from here on the requests of a command are shown in its output, as "> METHOD /path?query body"
    env NAME=VALUE  a variable of the environment, until the next `new`; {URL} in it is that of the service, {migration}
               the number of the newest migration
    input      the standard input of the next command, in the lines that follow, each behind a "|"
    only N     of the next command or file, shows the first N lines of standard output: what follows belongs to other tests
    new        forgets answers, variables and `ask`; files stay
    $ WORDS    a command; what it prints follows: "|" standard output, "!" standard error, ">" requests, and "= N" its
               exit status, where it is not 0

With --folder FOLDER PROGRAM the transcripts are those of another folder, and `$` runs another program.
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
if "--folder" in sys.argv:
    at = sys.argv.index("--folder")
    FOLDER, support.PERFCI = pathlib.Path(sys.argv[at + 1]), os.path.join(support.BIN, sys.argv[at + 2])
    del sys.argv[at:at + 3]
DATA = os.path.join(support.ROOT, "tests/data")
RECORD = "--record" in sys.argv
# A warning about this machine, which comes and goes. test_measure.py has the tests of the canary.
MACHINE = [r"perfci bisect: the machine changed its speed during the search \(canary [^\n]*\n", ""]


class Transcripts(support.Case):
    maxDiff = None

    def ago(self, match):
        """The time of an "@ago(N)"; output that has it, or its minute, gets the "@ago(N)" back."""
        then = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=int(match.group(1)))
        self.names[then.strftime("%Y-%m-%dT%H:%M:%SZ")] = self.names[then.strftime("%Y-%m-%d %H:%M")] = match.group()
        return then.strftime("%Y-%m-%dT%H:%M:%SZ")

    def masked(self, text):
        for pattern, name in self.masks:
            text = re.sub(pattern, name, text)
        return text

    def command(self, words):
        """A command's output in the form of a transcript."""
        self.stub.calls.clear()
        words = [word.replace("DATA/", DATA + "/") for word in shlex.split(words)]
        done = self.perfci(*words, text=self.input, cwd=self.folder, env=self.variables)
        done.stdout, done.stderr = self.masked(done.stdout), self.masked(done.stderr)
        lines = transcript.shown("|", done.stdout, self.names)[:self.only]
        self.input = self.only = None
        calls = [self.masked(f"> {method} {path}{' ' + json.dumps(body) if body is not None else ''}") for method, path, body in self.stub.calls]
        status = [f"= {done.returncode}"] if done.returncode else []
        return [*(transcript.shown("", "\n".join(calls), self.names) if self.asks else []),
                *lines, *transcript.shown("!", done.stderr, self.names), *status]

    def revision(self, match):
        return self.git("rev-parse", match.group(1), cwd=self.folder)

    def step(self, head, body):
        head = re.sub(r"\{rev:([^}]+)\}", self.revision, head)
        word, _, rest = head.partition(" ")
        content = re.sub(r"\{rev:([^}]+)\}", self.revision, transcript.content(body))
        if word == "file":
            self.write(f"work/{rest}", content + "\n")
        elif word == "answer":
            method, path, *status = rest.split()
            content = re.sub(r"@ago\((\d+)\)", self.ago, content)
            self.stub.answers[method, path] = (int(status[0]) if status else 200, json.loads(content))
        elif word == "then":
            key, before = tuple(rest.split()), self.stub.answers[tuple(rest.split())]
            queue = [before, json.loads(content)]
            self.stub.answers[key] = lambda: queue.pop(0) if len(queue) > 1 else queue[0]
        elif word == "program":
            self.write(f"programs/{rest}", f"#!/bin/sh\n{content}\n", 0o755)
            self.variables["PATH"] = self.path("programs")
        elif word == "show":
            with open(self.path("work", rest), encoding="utf-8") as file:
                lines = transcript.shown("|", self.masked(file.read()), self.names)[:self.only]
            self.only = None
            return lines
        elif word == "repo":
            self.folder = self.path("work", rest)
            os.makedirs(self.folder, exist_ok=True)
            self.git("init", "-q", "-b", "main", cwd=self.folder)
        elif word == "git":
            self.git(*shlex.split(rest), cwd=self.folder)
        elif word == "mask":
            self.masks.append(rest.rsplit(" ", 1))
        elif word == "ask":
            self.asks = True
        elif word == "only":
            self.only = int(rest)
        elif word == "input":
            self.input = content + "\n"
        elif word == "env":
            newest = max(int(name[:4]) for name in os.listdir(os.path.join(support.ROOT, "schema/migrations")))
            value = rest.replace("{URL}", self.stub.url).replace("{migration}", str(newest))
            self.variables.update([value.split("=", 1)])
        elif word == "new":
            self.stub.answers, self.variables, self.masks = {}, {}, [MACHINE]
            self.asks, self.input, self.only, self.folder = False, None, None, self.path("work")
        elif word == "$":
            return self.command(rest)
        else:
            self.assertTrue(not head or word == "#", f"expected a step of a transcript, got {head!r}")
        return None

    def play(self, path):
        self.stub = Stub({})
        self.addCleanup(self.stub.close)
        self.names = {DATA: "DATA", support.BIN: "BIN", self.dir: "DIR", self.stub.url: "URL"}
        self.env.update(PERFCI_URL=self.stub.url, COLUMNS="200")
        date = "2026-01-01T00:00:00Z"
        self.env.update({f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
                         for what, value in (("NAME", "A"), ("EMAIL", "a@example.org"), ("DATE", date))})
        self.write("work/empty", "")
        self.step("new", [])
        transcript.play(self, path, self.step, RECORD)


def one_of(path):
    return lambda self: self.play(path)


for name in sorted(FOLDER.glob("*.txt")):
    setattr(Transcripts, f"test_{name.stem}", one_of(name))

if __name__ == "__main__":
    support.unittest.main(verbosity=2, argv=[a for a in sys.argv if a != "--record"], failfast=not RECORD)
