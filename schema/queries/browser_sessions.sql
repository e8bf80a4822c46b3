-- name: browser_session_insert
-- expires_s: seconds from now; the session also ends with its token.
-- in: token_id i64, hash text, address text, expires_s f64
-- value: id i64
INSERT INTO browser_sessions (token_id, hash, address, expires_at)
VALUES ($1::bigint, $2, $3, now() + make_interval(secs => $4::float8)) RETURNING id;

-- name: browser_sessions_trim
-- Deletes expired sessions, and the oldest of a token beyond its newest `most`.
-- in: token_id i64, most i64
DELETE FROM browser_sessions
WHERE expires_at < now()
   OR id IN (SELECT id FROM browser_sessions WHERE token_id = $1::bigint ORDER BY id DESC OFFSET $2::int);

-- name: browser_session_find
-- As token_find, of the session's token. valid_s: seconds until the session or its token expires.
-- in: hash text
-- out: id i64, hash text, token_id i64, name text, scopes i64, project_id i64, valid_s f64, valid bool, stale bool
SELECT s.id, s.hash, t.id AS token_id, t.name, t.scopes, t.project_id,
       extract(epoch FROM least(s.expires_at, t.expires_at) - now())::float8 AS valid_s,
       s.expires_at > now() AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now()) AS valid,
       coalesce(s.last_used_at < now() - interval '1 minute', true) AS stale
FROM browser_sessions s JOIN tokens t ON t.id = s.token_id WHERE s.hash = $1;

-- name: browser_session_used
-- in: id i64, token_id i64
WITH token AS (UPDATE tokens SET last_used_at = now() WHERE id = $2::bigint)
UPDATE browser_sessions SET last_used_at = now() WHERE id = $1::bigint;

-- name: browser_sessions_list
-- Valid sessions, oldest first. A parameter that is NULL does not restrict.
-- also: once
-- in: token_id id, cursor id, limit i64
-- out: id i64, token_id i64, token_name text, address text, created_at f64, expires_at f64, last_used_at f64
SELECT s.id, s.token_id, t.name AS token_name, s.address,
       extract(epoch FROM s.created_at)::float8 AS created_at,
       extract(epoch FROM least(s.expires_at, t.expires_at))::float8 AS expires_at,
       extract(epoch FROM s.last_used_at)::float8 AS last_used_at
FROM browser_sessions s JOIN tokens t ON t.id = s.token_id
WHERE ($1::bigint IS NULL OR s.token_id = $1) AND ($2::bigint IS NULL OR s.id > $2)
  AND s.expires_at > now() AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
ORDER BY s.id LIMIT $3::int;

-- name: browser_session_end
-- A parameter that is NULL does not restrict; the token's id, no row when there is no such session.
-- in: id id, token_id id, hash text?
-- out: id i64, token_id i64, project_id i64
WITH gone AS (
    DELETE FROM browser_sessions
    WHERE ($1::bigint IS NOT NULL OR $3::text IS NOT NULL) AND ($1::bigint IS NULL OR id = $1)
      AND ($2::bigint IS NULL OR token_id = $2) AND ($3::text IS NULL OR hash = $3)
    RETURNING id, token_id)
SELECT g.id, g.token_id, t.project_id FROM gone g JOIN tokens t ON t.id = g.token_id;
