-- The session that a job with blocks brought: what its runs are judged by, also when none of its builds had to
-- be measured.
ALTER TABLE jobs ADD COLUMN session_id text CHECK (session_id ~ '^[0-9a-f]{32}$');
