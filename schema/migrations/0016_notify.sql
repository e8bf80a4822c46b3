-- Notices are sent by the servers themselves: a job of the queue for each receiver, tried again at
-- not_before. A notice is open until each of its jobs is done.
ALTER TABLE jobs DROP CONSTRAINT jobs_kind_check;
ALTER TABLE jobs ADD CONSTRAINT jobs_kind_check CHECK (kind IN ('measure', 'nightly', 'pull_request',
    'backfill', 'bisect', 'verify', 'detect', 'notify'));
ALTER TABLE jobs ADD COLUMN not_before timestamptz;
DROP INDEX jobs_waiting;
CREATE INDEX jobs_waiting ON jobs (priority DESC, id)
    WHERE state = 'queued' AND kind NOT IN ('detect', 'notify');
CREATE INDEX jobs_to_send ON jobs (not_before, id) WHERE state = 'queued' AND kind = 'notify';
CREATE INDEX jobs_of_notice ON jobs (project_id, ((task ->> 'notice')::bigint)) WHERE kind = 'notify';
ALTER TABLE notices ADD COLUMN dispatched_at timestamptz;
