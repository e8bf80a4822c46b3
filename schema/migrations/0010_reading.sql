-- Long series are read from the index alone: the key's index carries what a bucket is made of. The few
-- runs of a machine that had moved are found without looking at the others.
ALTER TABLE measurements DROP CONSTRAINT measurements_pkey;
ALTER TABLE measurements ADD CONSTRAINT measurements_pkey
    PRIMARY KEY (project_id, series_id, run_id, stored_at) INCLUDE (commit_id, n, median, min);
CREATE INDEX runs_infra ON runs (project_id, id) WHERE infra;
