-- A queue of years: what the server did for itself (judging, sending) is of no use after a month and goes;
-- whoever looks for jobs of runners does not walk over the rest.
CREATE INDEX jobs_by_age ON jobs USING brin (created_at);
CREATE INDEX jobs_of_runners ON jobs (id) WHERE kind NOT IN ('detect', 'notify');
CREATE INDEX jobs_backfilled ON jobs (project_id, created_at) WHERE kind = 'backfill';
CREATE INDEX jobs_sources ON jobs (project_id, id) WHERE state = 'done' AND source IS NOT NULL;

-- On which branches is a commit?
CREATE INDEX branch_commits_of ON branch_commits (project_id, commit_id);

-- No statement was ever planned with it.
DROP INDEX alerts_to_group;
