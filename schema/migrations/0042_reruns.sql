-- Rerun rules (`rerun:` of perfci.yaml), and which job measures again for which rule.
-- rerun_rules: as the job's runner read them; NULL: the project's apply. rerun_look: the job has ended and the rules
-- were not applied yet. rerun_note: what they led to, or where a rerun did not get what its rule asks for.
-- rerun_of: the first job of the chain; NULL with a rule: its runs came without a job.
ALTER TABLE projects ADD COLUMN rerun_rules jsonb;
ALTER TABLE jobs
    ADD COLUMN rerun_rules jsonb,
    ADD COLUMN rerun_look boolean NOT NULL DEFAULT false,
    ADD COLUMN rerun_note text,
    ADD COLUMN rerun_of bigint,
    ADD COLUMN rerun_rule text CHECK (rerun_rule IN ('inconclusive', 'canary', 'infra', 'broken', 'suspected')),
    ADD COLUMN rerun_number int,
    ADD COLUMN rerun_times int,
    ADD COLUMN avoid_until timestamptz, -- avoid_runner gets the job afterwards; NULL: 10 minutes after created_at
    ADD CONSTRAINT jobs_rerun_check CHECK (num_nonnulls(rerun_rule, rerun_number, rerun_times) IN (0, 3));
CREATE INDEX jobs_to_look_at ON jobs (id) WHERE rerun_look;
CREATE INDEX jobs_reruns ON jobs (project_id, rerun_of) WHERE rerun_of IS NOT NULL;
CREATE INDEX jobs_suspected ON jobs (project_id, sha) WHERE rerun_rule = 'suspected';
