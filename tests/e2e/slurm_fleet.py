"""slurm_fleet.py [--jobs N] [--pairs N]: N jobs over three virtual nodes of a real Slurm cluster, of which one is killed and
one is drained in the middle; each result must be stored exactly once. Then the time of a job through Slurm beside the same
job at a runner that asks for jobs itself, in turn.
"""
import argparse
import os
import signal
import statistics
import subprocess
import sys
import time

import slurm_cluster

slurm_cluster.contained(status=1)

from stack import BIN, Stack, make_repository, wait_for  # noqa: E402

DEADLINE_S = 900
PULL, SLURM = "pull", "mi300+gfx942"  # machine classes


def add(stack, commit, labels=None):
    return stack.api("/jobs", "POST", {"project": "tiny", "kind": "measure", "commit": commit, "labels": labels or {}}, status=201)["id"]


def jobs_of(stack):
    return {job["id"]: job for job in stack.api("/jobs?project=tiny&limit=1000")["jobs"]}


def count_done(stack):
    return sum(job["state"] == "done" for job in jobs_of(stack).values())


def kill_a_node_at_work(cluster, node):
    """Its daemon and all that it runs, as a power cut."""
    wait_for("the node has work", lambda: len(cluster.processes_of(node)) > 1)
    lost = [number for number, (_, _, where) in cluster.batches().items() if where == node]
    cluster.kill_node(node)
    return lost


def prove_once(stack, cluster, commits):
    ids = {add(stack, commit): commit for commit in commits}
    third = len(ids) // 3
    wait_for("a third is done", lambda: count_done(stack) >= third, DEADLINE_S)
    lost = kill_a_node_at_work(cluster, "h100-1")
    print(f"{count_done(stack)} done: node h100-1 killed with batch job {lost}", flush=True)
    wait_for("half is done", lambda: count_done(stack) >= len(ids) // 2, DEADLINE_S)
    cluster.run("scontrol", "update", "nodename=h100-2", "state=drain", "reason=proof")
    print(f"{count_done(stack)} done: node h100-2 drained", flush=True)
    wait_for("5 of 6 are done", lambda: count_done(stack) >= 5 * len(ids) // 6, DEADLINE_S)
    cluster.run("scontrol", "update", "nodename=h100-2", "state=resume")
    print(f"{count_done(stack)} done: node h100-2 resumed", flush=True)
    wait_for("all have ended", lambda: cluster.hasten() or all(j["state"] not in ("queued", "leased") for j in jobs_of(stack).values()), DEADLINE_S)
    jobs = jobs_of(stack)
    runs = stack.api("/projects/tiny/runs?limit=1000")["runs"]
    counted = {}
    for run in runs:
        if not run["extra"]:
            counted[run["commit"]] = counted.get(run["commit"], 0) + 1
    bad = [(number, jobs[number]["state"], jobs[number]["reason"], counted.get(commit, 0)) for number, commit in ids.items()
           if jobs[number]["state"] != "done" or len(jobs[number]["run_ids"]) != 1 or counted.get(commit) != 1]
    nodes = {}
    for number in ids:
        nodes[jobs[number]["runner"]] = nodes.get(jobs[number]["runner"], 0) + 1
    print(f"{len(ids)} jobs, {sum(j['tries'] > 1 for j in jobs.values())} started more than once, "
          f"{len(runs) - sum(counted.values())} overtaken runs; by node: {dict(sorted(nodes.items()))}", flush=True)
    if bad or sum(counted.values()) != len(ids):
        raise SystemExit(f"not once: {bad}")
    print("every result is stored once", flush=True)


def seconds_of(stack, commit, machine_class):
    begin = time.monotonic()
    number = add(stack, commit, {"machine_class": machine_class})
    wait_for("done", lambda: jobs_of(stack)[number]["state"] == "done", DEADLINE_S)
    return time.monotonic() - begin


def compare(stack, commits):
    """Interleaved, so that the machine's state weighs on both."""
    token = stack.api("/tokens", "POST", {"name": "pull", "scopes": ["runner"]}, status=201)["token"]
    runner = subprocess.Popen([os.path.join(BIN, "perfci-runner"), "--url", stack.url, "--work", os.path.join(stack.dir, "pull"), "--class", PULL],
                              env=dict(stack.env, PERFCI_TOKEN=token), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        both = {PULL: [], SLURM: []}
        for index, commit in enumerate(commits):
            for side in sorted(both, reverse=bool(index % 2)):
                both[side].append(seconds_of(stack, commit, side))
    finally:
        runner.send_signal(signal.SIGTERM)
        runner.wait(timeout=60)
    more = sorted(s - p for s, p in zip(both[SLURM][1:], both[PULL][1:]))  # the first one clones
    for side, name in ((PULL, "pull runner"), (SLURM, "Slurm")):
        times = sorted(both[side][1:])
        print(f"{name}: {len(times)} jobs, from posting to done: median {statistics.median(times):.2f} s ({times[0]:.2f} to {times[-1]:.2f})")
    print(f"Slurm takes {statistics.median(more):.2f} s more (median of {len(more)} pairs, {more[0]:.2f} to {more[-1]:.2f})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=20)
    args = parser.parse_args()
    cluster = slurm_cluster.Cluster()
    dispatcher = None
    stack = Stack(runner=False)
    try:
        stack.up()
        cluster.start()
        repo = os.path.join(stack.dir, "tiny")
        commits = make_repository(repo, [2.0] * (args.jobs + args.pairs + 1))
        stack.api("/projects", "POST", {"name": "tiny", "repo_url": repo}, status=201)
        dispatcher = slurm_cluster.Dispatcher(cluster, stack).start()
        prove_once(stack, cluster, commits[:args.jobs])
        compare(stack, commits[args.jobs:])
    except AssertionError:
        if dispatcher:
            print(dispatcher.logs(), cluster.logs(), file=sys.stderr, sep="\n")
        raise
    finally:
        if dispatcher:
            dispatcher.stop()
        cluster.close()
        stack.down()


if __name__ == "__main__":
    main()
