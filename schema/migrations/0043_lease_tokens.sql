-- A token of each lease: it stores the results of that lease's job, and nothing else. The runner's own token only
-- leases. Kept longer than the lease, because results wait on the runner's disk while the server is unreachable.
CREATE TABLE lease_tokens (
    hash       text PRIMARY KEY,  -- SHA-256 of the secret
    project_id bigint NOT NULL,
    job_id     bigint NOT NULL,
    fence      bigint NOT NULL,   -- number of the lease
    token_id   bigint NOT NULL,   -- of the runner; when it is revoked, so are its leases' tokens
    runner     text NOT NULL,
    issued_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX lease_tokens_by_age ON lease_tokens (issued_at);

-- The commits that a job measures: its own, the other one of a pair, and all of a session.
CREATE FUNCTION job_commits(sha text, task jsonb) RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_remove(ARRAY[sha, task ->> 'pair', task #>> '{blocks,base}'] || ARRAY(
           SELECT jsonb_array_elements_text(jsonb_path_query_array(task, '$.blocks.commits[*]')
                                            || jsonb_path_query_array(task, '$.blocks.anchors[*]'))), NULL)
$$;

-- A role of the server removes old rows.
DO $$
DECLARE
    old    text := pg_get_functiondef('server_rights(text)'::regprocedure);
    before text := 'tallies,lease_questions';
BEGIN
    IF strpos(old, before) = 0 THEN
        RAISE EXCEPTION 'server_rights is not the one of migration 0028';
    END IF;
    EXECUTE replace(old, before, before || ',lease_tokens');
END $$;
