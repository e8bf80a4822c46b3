"""Schedules of project demo and their nights, for test_openapi.py."""

import support

SCHEDULE = {"name": "nightly", "cron": "30 2 * * mon-fri", "zone": "Europe/Berlin", "branch": "main", "suite": "s.yaml", "backends": ["x"],
            "labels": {"rack": "a"}, "max_commits": 5, "budget_s": 60, "enabled": True}


def plant(server, job):
    """Schedules "planted", with a night that measured commit 8 by the job, "spare" and "busy"."""
    for name in ("planted", "spare", "busy"):
        assert server.as_admin("POST", "/api/v1/projects/demo/schedules", {"name": name, "cron": "@daily", "suite": "s.yaml"}).status == 201
    support.sql(server.database, "UPDATE schedules SET last_at = now(); INSERT INTO nights (project_id, schedule_id, due_at, actor, state, job_id,"
                " head, finished_at) SELECT s.project_id, s.id, now(), 'schedule', 'done', j.id, c.sha, now() FROM schedules s, jobs j, commits c"
                f" WHERE s.name = 'planted' AND j.id = {job} AND c.sha = '{support.commit_id(8)}'")


def keep_busy(server):
    """A night of "busy" runs, until the test ends."""
    job = server.as_admin("POST", "/api/v1/jobs", {"project": "demo", "kind": "measure", "commit": support.commit_id(4),
                                                   "labels": {"rack": "never"}}).json["id"]
    support.sql(server.database, "INSERT INTO nights (project_id, schedule_id, actor, state, job_id) SELECT project_id, id, 'schedule', 'running',"
                f" {job} FROM schedules WHERE name = 'busy'")


def ask_about_schedules(server, ask):
    """A schedule of a name that is taken, and a night of one that is busy."""
    ask("post", "/api/v1/projects/{p}/schedules", SCHEDULE)
    keep_busy(server)
    ask("post", "/api/v1/projects/{p}/schedules/{id}/run", path="/api/v1/projects/demo/schedules/busy/run")
