-- Of what storing costs most is indexes. A commit's measurements and a run's are found by one: whoever
-- asks for a run knows its commit.
DROP INDEX measurements_by_run;
DROP INDEX measurements_by_commit;
CREATE INDEX measurements_by_commit ON measurements (project_id, commit_id, run_id);
