-- SHA-256 of all that decides the result of a pair of builds: trees, settings, suite, toolchain, machine class. NULL: the
-- session compares more than one commit with its base, or its runner does not make keys.
ALTER TABLE sessions ADD COLUMN pair_key text CHECK (pair_key ~ '^[0-9a-f]{64}$');
CREATE INDEX sessions_of_pair ON sessions (project_id, pair_key, number) WHERE pair_key IS NOT NULL;
