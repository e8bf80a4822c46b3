-- A queue of years: the server's own jobs (judging, sending) are deleted after a month;
-- a search for the jobs of runners does not read the remaining ones.
CREATE INDEX jobs_by_age ON jobs USING brin (created_at);
CREATE INDEX jobs_of_runners ON jobs (id) WHERE kind NOT IN ('detect', 'notify');
CREATE INDEX jobs_backfilled ON jobs (project_id, created_at) WHERE kind = 'backfill';
CREATE INDEX jobs_sources ON jobs (project_id, id) WHERE state = 'done' AND source IS NOT NULL;

-- On which branches is a commit?
CREATE INDEX branch_commits_of ON branch_commits (project_id, commit_id);

-- No statement was ever planned with it.
DROP INDEX alerts_to_group;
