-- Jobs that store traces of a commit: the page of an alert shows those of both sides of its change.
CREATE INDEX jobs_traces ON jobs (project_id, sha) WHERE task ? 'traces';
