-- Sign-ins of browsers. The cookie has a random id of its own, so that the token never leaves the sign-in request,
-- and so that one sign-in can be ended without revoking the token. hash: SHA-256 of that id.
CREATE TABLE browser_sessions (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    token_id     bigint NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
    hash         text NOT NULL UNIQUE CHECK (hash ~ '^[0-9a-f]{64}$'),
    address      text NOT NULL, -- of the client that signed in
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    last_used_at timestamptz
);
CREATE INDEX browser_sessions_token ON browser_sessions (token_id, id);
CREATE INDEX browser_sessions_expiry ON browser_sessions (expires_at);

-- The server updates the last use, and deletes sessions that ended.
DO $$
DECLARE
    old     text := pg_get_functiondef('server_rights(text)'::regprocedure);
    changed text := '''{projects,commits,';
    deleted text := '''{jobs,series_chunks';
BEGIN
    IF strpos(old, changed) = 0 OR strpos(old, deleted) = 0 THEN
        RAISE EXCEPTION 'server_rights is not the one of migration 0027';
    END IF;
    old := replace(old, changed, '''{browser_sessions,projects,commits,');
    EXECUTE replace(old, deleted, '''{browser_sessions,jobs,series_chunks');
END $$;
