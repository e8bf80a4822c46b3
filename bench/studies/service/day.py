#!/usr/bin/env python3
"""A simulated day: 10^5 commits and 2*10^6 points in 10^5 series, fed 24 times as fast as they come.

`perfci up` with a database of its own, with fsync. Commit k is measured by suite k % SUITES, which has 20 series; each run
has 20 points of 3 samples. Commits are named and runs posted by CLIENTS clients at the times of an hour (1,667 runs a
minute). Every SECONDS the age of the oldest run that is not judged is read from /metrics. Printed at the end: the largest
age, its 95th percentile, the time from the last run until everything is judged, and the processor time a point of all
processes of the service together.

usage: day.py [--minutes N] [--speed X] [--clients N] [--strict]

--minutes N: the first N minutes of the hour, with as many series as give each 20 points. With --strict the status is 1
when the oldest unjudged run was older than 60 s, or judging took more than five minutes after the end, or a run is
missing. --workers N: threads that judge.
PERFCI_BIN_DIR and PERFCI_SOURCE_DIR name the build and the source, as for the tests.
"""

import argparse
import json
import os
import re
import sys
import threading
import time
import urllib.error
import urllib.request

import judging
from fleet import Fleet
from stack import Stack

COMMITS, WIDTH, POINTS = 100_000, 20, 20  # of the day; series a run; points a series
AGE_S, AFTER_S = 60, 300                  # the goals
AHEAD = 2000                              # commits that are named before their runs come
NAMES = ("lag_seconds", "points_total", "batches_total", "series_total", "series_passed_total", "failures_total")


def metrics(stack):
    request = urllib.request.Request(stack.url + "/metrics", headers={"Authorization": "Bearer " + stack.token()})
    with urllib.request.urlopen(request, timeout=120) as answer:
        text = answer.read().decode()
    return {name: float(re.search(rf"^perfci_detection_{name} (\S+)$", text, re.M)[1]) for name in NAMES}


class Feed:
    """Posts runs at their times, by several threads; a run that is refused is posted again."""

    def __init__(self, stack, fleet, runs, seconds, clients):
        self.stack, self.fleet, self.runs, self.seconds = stack, fleet, runs, seconds
        self.lock, self.next, self.retries = threading.Lock(), 0, 0
        self.start = time.monotonic()
        self.late_s, self.fault = 0.0, None
        self.threads = [threading.Thread(target=self.main, daemon=True) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def take(self):
        with self.lock:
            if self.next == self.runs or self.fault:
                return None
            i, self.next = self.next, self.next + 1
            if self.fleet.named < min(i + AHEAD, self.runs):
                self.fleet.commits(min(1000, self.runs - self.fleet.named))
            return i, self.fleet.document(i)

    def post(self, document):
        request = urllib.request.Request(self.stack.url + "/api/v1/runs", data=json.dumps(document).encode(), method="POST", headers={
            "Content-Type": "application/json", "Authorization": "Bearer " + self.stack.token()})
        while True:
            try:
                with urllib.request.urlopen(request, timeout=120):
                    return
            except urllib.error.HTTPError as error:
                if error.code not in (429, 503):
                    raise
                self.retries += 1
                time.sleep(1)

    def main(self):
        try:
            while (taken := self.take()) is not None:
                due = self.start + taken[0] * self.seconds / self.runs
                time.sleep(max(0.0, due - time.monotonic()))
                self.post(taken[1])
                self.late_s = max(self.late_s, time.monotonic() - due)
        except BaseException as fault:  # noqa: B036: the main thread reports it
            self.fault = fault

    def over(self):
        if self.fault:
            raise self.fault
        return not any(thread.is_alive() for thread in self.threads)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--speed", type=float, default=24.0, help="times as fast as a day")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--every", type=float, default=1.0)
    parser.add_argument("--strict", action="store_true")
    args = parser.parse_args()
    seconds = args.minutes * 60
    runs = round(COMMITS * args.speed * seconds / 86400)
    suites = max(1, runs // POINTS)
    os.environ["PERFCI_WORKERS"] = str(args.workers)
    print(f"{runs} commits, {runs * WIDTH} points in {suites * WIDTH} series, {args.minutes:g} minutes, {args.workers} workers", flush=True)
    with Stack(runner=False) as stack:
        fleet = Fleet(stack.api, "day", suites * WIDTH, suites, day=COMMITS)
        fleet.commits(min(AHEAD, runs))
        before = judging.processor_s(stack.data)
        feed = Feed(stack, fleet, runs, seconds, args.clients)
        ages, shown, end = [], time.monotonic(), None
        while True:
            time.sleep(args.every)
            now = metrics(stack)
            ages.append(now["lag_seconds"])
            if end is None and feed.over():
                end = time.monotonic()
            if time.monotonic() - shown > 60:
                shown = time.monotonic()
                print(f"  {shown - feed.start:6.0f} s: {feed.next} runs taken, {now['points_total']:.0f} points judged,"
                      f" oldest unjudged run {now['lag_seconds']:.0f} s", flush=True)
            if end is not None and now["lag_seconds"] == 0 and now["points_total"] >= runs * WIDTH:
                break
            if end is not None and time.monotonic() - end > 20 * AFTER_S:
                break
        after = time.monotonic() - end
        used = judging.processor_s(stack.data) - before
        judging.judged(stack.api)
    ages.sort()
    judged = int(now["points_total"])
    print(f"oldest unjudged run: {ages[-1]:.1f} s at most, {ages[int(0.95 * (len(ages) - 1))]:.1f} s at the 95th percentile")
    print(f"everything judged {after:.1f} s after the last run; {judged} points, {now['batches_total']:.0f} batches,"
          f" {now['failures_total']:.0f} failed, {1 - now['series_passed_total'] / max(now['series_total'], 1):.0%} with their history")
    print(f"{used / (runs * WIDTH) * 1e3:.3f} ms of processor a point, storing included; runs up to {feed.late_s:.1f} s late,"
          f" {feed.retries} posted again; load {os.getloadavg()[0]:.1f}")
    return args.strict and (ages[-1] > AGE_S or after > AFTER_S or judged < runs * WIDTH)


if __name__ == "__main__":
    sys.exit(main())
