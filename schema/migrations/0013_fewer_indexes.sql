-- Indexes are most of the cost of storing a run. One index finds a commit's measurements and a run's,
-- because a request for a run knows the run's commit.
DROP INDEX measurements_by_run;
DROP INDEX measurements_by_commit;
CREATE INDEX measurements_by_commit ON measurements (project_id, commit_id, run_id);
