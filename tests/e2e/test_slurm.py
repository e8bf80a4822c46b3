"""Jobs of the service run on a real Slurm cluster of three virtual nodes, and their results are stored once, whatever
happens to nodes, jobs and the dispatcher meanwhile."""
import os
import signal
import unittest

import slurm_cluster

if __name__ == "__main__":
    slurm_cluster.contained(77)

from stack import Stack, make_repository, wait_for  # noqa: E402

LEVELS = [2.0] * 10


class Slurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = Stack(runner=False)
        cls.addClassCleanup(cls.stack.down)
        cls.stack.up()
        cls.cluster = slurm_cluster.Cluster()
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.start()
        repo = os.path.join(cls.stack.dir, "tiny")
        cls.commits = make_repository(repo, LEVELS)
        cls.stack.api("/projects", "POST", {"name": "tiny", "repo_url": repo}, status=201)
        cls.dispatcher = slurm_cluster.Dispatcher(cls.cluster, cls.stack).start()
        cls.addClassCleanup(lambda: cls.dispatcher.process.kill())
        cls.next = 0

    def tearDown(self):
        outcome = self._outcome.result
        if outcome.failures or outcome.errors:
            print(self.dispatcher.logs(), self.cluster.logs(), self.stack.logs(), sep="\n")

    def add(self, labels=None):
        """A job for a commit of its own."""
        commit = self.commits[type(self).next]
        type(self).next += 1
        made = self.stack.api("/jobs", "POST", {"project": "tiny", "kind": "measure", "commit": commit, "labels": labels or {}}, status=201)
        return made["id"]

    def job(self, number):
        return self.stack.api(f"/jobs/{number}")

    def ended(self, number, hasten=False):
        def look():
            if hasten:
                self.cluster.hasten()
            found = self.job(number)
            return found if found["state"] in ("done", "failed", "cancelled") else None
        return wait_for(f"job {number} ends", look)

    def assert_once(self, number, tries=1):
        """Done, with one run that counts."""
        job = self.ended(number)
        self.assertEqual((job["state"], job["tries"], len(job["run_ids"])), ("done", tries, 1), job)
        return job

    def running(self, number):
        """The batch job that runs it."""
        def look():
            for batch, (state, name, node) in self.cluster.batches().items():
                if state == "RUNNING" and name.startswith(f"perfci-{number}-"):
                    return batch, node
            return None
        return wait_for(f"job {number} runs", look)

    def held(self, labels=None):
        """A job that stays in its first launch, on a node."""
        launch = self.stack.launches() + 1
        self.stack.hold(launch)
        number = self.add(labels)
        found = self.running(number)
        wait_for("the launch that is held", lambda: self.stack.launches() == launch)
        return number, *found

    def test_a_job_goes_to_a_node_of_its_labels_and_is_stored_under_its_class(self):
        jobs = {"mi300": self.add({"mi300": "yes"}), "h100": self.add({"h100": "yes", "gres/gpu": "yes"}),
                "class": self.add({"machine_class": "mi300+gfx942"})}
        runs = {name: self.stack.api("/runs/" + self.assert_once(number)["run_ids"][0]) for name, number in jobs.items()}
        self.assertEqual({name: run["machine"]["class"] for name, run in runs.items()},
                         {"mi300": "mi300+gfx942", "h100": "h100+sm90", "class": "mi300+gfx942"})
        self.assertIn(runs["h100"]["machine"]["name"], ("h100-1", "h100-2"))
        self.assertEqual(runs["mi300"]["machine"]["name"], "mi300-1")
        with open(self.dispatcher.token, encoding="ascii") as file:
            token = file.read().strip()
        for folder, _, files in os.walk(os.path.join(self.dispatcher.work, "nodes")):
            for name in files:
                with open(os.path.join(folder, name), "rb") as file:
                    self.assertNotIn(token.encode(), file.read(), "a node has the runner's own token")

    def test_a_job_that_slurm_requeues_is_measured_again_and_counts_once(self):
        number, batch, _ = self.held({"mi300": "yes"})
        self.cluster.run("scontrol", "requeue", str(batch))
        self.stack.hold(None)
        self.assertEqual(self.ended(number, hasten=True)["state"], "done")
        self.assert_once(number, tries=2)

    def test_what_still_runs_on_a_lost_node_can_complete_nothing(self):
        number, _, node = self.held({"h100": "yes"})
        work = self.cluster.processes_of(node)[1:]
        self.cluster.kill_node(node, keep_work=True)
        self.addCleanup(self.cluster.start_node, node)
        self.addCleanup(lambda: [os.kill(p, signal.SIGKILL) for p in work if os.path.exists(f"/proc/{p}")])
        launch = self.stack.launches()
        wait_for("Slurm begins the job on another node", lambda: self.cluster.hasten() or self.stack.launches() > launch)
        self.stack.hold(None)  # both go on
        job = self.assert_once(number, tries=2)
        self.assertNotEqual(job["runner"], node)
        self.assertEqual(self.stack.api("/runs/" + job["run_ids"][0])["machine"]["name"], job["runner"])

    def test_cancelling_a_job_cancels_its_batch_job(self):
        number, batch, node = self.held({"mi300": "yes"})
        work = self.cluster.processes_of(node)[1:]
        self.stack.api(f"/jobs/{number}", "DELETE")
        self.assertEqual(self.ended(number)["state"], "cancelled")
        wait_for("its batch job is gone", lambda: batch not in self.cluster.batches())
        # its launches would count as those of the next test's job
        wait_for("its processes are gone", lambda: not any(os.path.exists(f"/proc/{p}") for p in work))
        self.stack.hold(None)

    def test_a_killed_dispatcher_goes_on_with_its_jobs(self):
        number, batch, _ = self.held({"mi300": "yes"})
        waiting = self.add({"mi300": "yes"})
        wait_for("the second waits in Slurm", lambda: any(name.startswith(f"perfci-{waiting}-") for _, name, _ in self.cluster.batches().values()))
        self.dispatcher.stop(signal.SIGKILL)
        self.dispatcher.start()
        self.stack.hold(None)
        self.assert_once(number)
        self.assert_once(waiting)

    def test_a_drained_kind_of_node_gets_no_job(self):
        self.cluster.run("scontrol", "update", "nodename=mi300-1", "state=drain", "reason=test")
        wait_for("drained", lambda: self.cluster.states()["mi300-1"].startswith("drain"))
        self.dispatcher.stop()  # it looks at the nodes when it starts
        self.dispatcher.start()
        left, other = self.add({"mi300": "yes"}), self.add({"h100": "yes"})
        self.assert_once(other)
        self.assertEqual(self.job(left)["state"], "queued")
        self.cluster.run("scontrol", "update", "nodename=mi300-1", "state=resume")
        self.assert_once(left)


if __name__ == "__main__":
    unittest.main(verbosity=2)
