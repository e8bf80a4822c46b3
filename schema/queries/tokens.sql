-- name: tokens_list
-- A parameter that is NULL does not restrict.
-- row: token
-- also: once
-- in: id id, hash text?, cursor id, limit i64
-- out: id i64, name text, scopes i64, project_id i64, project text, hash text, created_at f64, expires_at f64,
--    revoked_at f64, last_used_at f64
SELECT t.id, t.name, t.scopes, t.project_id, p.name AS project, t.hash,
       extract(epoch FROM t.created_at)::float8 AS created_at,
       extract(epoch FROM t.expires_at)::float8 AS expires_at,
       extract(epoch FROM t.revoked_at)::float8 AS revoked_at,
       extract(epoch FROM t.last_used_at)::float8 AS last_used_at
FROM tokens t LEFT JOIN projects p ON p.id = t.project_id
WHERE ($1::bigint IS NULL OR t.id = $1) AND ($2::text IS NULL OR t.hash = $2)
  AND ($3::bigint IS NULL OR t.id > $3)
ORDER BY t.id LIMIT $4::int;

-- name: token_find
-- valid_s: seconds until it expires, NULL: never. stale: last_used_at is old.
-- in: hash text
-- out: id i64, name text, scopes i64, project_id i64, hash text, valid_s f64, valid bool, stale bool
SELECT id, name, scopes, project_id, hash,
       extract(epoch FROM expires_at - now())::float8 AS valid_s,
       revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) AS valid,
       coalesce(last_used_at < now() - interval '1 minute', true) AS stale
FROM tokens WHERE hash = $1;

-- name: token_insert
-- expires_at: Unix seconds, NULL for a token without an end.
-- in: hash text, name text?, scopes i64, project_id id, expires_at f64
-- value: id i64
INSERT INTO tokens (hash, name, scopes, project_id, expires_at)
VALUES ($1, coalesce($2, ''), $3::int, $4::bigint, to_timestamp($5::float8))
RETURNING id;

-- name: token_ensure
-- An admin token of every project; valid again if it was revoked.
-- in: hash text, name text
INSERT INTO tokens (hash, name, scopes) VALUES ($1, $2, 31)
ON CONFLICT (hash) DO UPDATE SET scopes = 31, project_id = NULL, expires_at = NULL, revoked_at = NULL
WHERE tokens.scopes <> 31 OR tokens.project_id IS NOT NULL OR tokens.expires_at IS NOT NULL
   OR tokens.revoked_at IS NOT NULL;

-- name: token_used
-- in: id i64
UPDATE tokens SET last_used_at = now() WHERE id = $1::bigint;

-- name: token_rotate
-- The new token, with the name, scopes, project and length of life of the old one; no row when that has ended. hash:
-- of the new token. overlap_s: seconds for which the old token stays valid.
-- row: token
-- in: id i64, hash text, overlap_s f64
-- out: id i64, name text, scopes i64, project_id i64, project text, hash text, created_at f64, expires_at f64,
--    revoked_at f64, last_used_at f64
WITH old AS (
    SELECT id, name, scopes, project_id, expires_at - created_at AS life FROM tokens
    WHERE id = $1::bigint AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())
    FOR UPDATE),
made AS (
    INSERT INTO tokens (hash, name, scopes, project_id, expires_at)
    SELECT $2, name, scopes, project_id, now() + life FROM old
    RETURNING *),
ends AS (
    UPDATE tokens t SET expires_at = least(t.expires_at, now() + make_interval(secs => $3::float8))
    FROM old WHERE t.id = old.id)
SELECT m.id, m.name, m.scopes, m.project_id, p.name AS project, m.hash,
       extract(epoch FROM m.created_at)::float8 AS created_at,
       extract(epoch FROM m.expires_at)::float8 AS expires_at,
       extract(epoch FROM m.revoked_at)::float8 AS revoked_at,
       extract(epoch FROM m.last_used_at)::float8 AS last_used_at
FROM made m LEFT JOIN projects p ON p.id = m.project_id;

-- name: token_revoke
-- in: id i64
-- value: id i64
UPDATE tokens SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1::bigint RETURNING id;
