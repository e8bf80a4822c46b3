-- Sessions: builds measured together in blocks.

-- name: session_find
-- in: project_id i64, id text
-- out: body_hash text
SELECT body_hash FROM sessions WHERE project_id = $1::bigint AND id = $2;

-- name: session_insert
-- The number of the new session; no row when it exists.
-- in: project_id i64, id text, branch text, anchor_commit_id i64, base_commit_id i64, machine_class text,
--    machine text, started_at f64, finished_at f64, budget_s f64, spent_s f64, blocks i64, note text?, body_hash text,
--    pair_key text?
-- value: number i64
INSERT INTO sessions (project_id, id, branch, anchor_id, base_id, machine_class, machine, started_at, finished_at,
                      budget_s, spent_s, blocks, note, body_hash, pair_key)
VALUES ($1::bigint, $2, $3, $4::bigint, $5::bigint, $6, $7, to_timestamp($8::float8), to_timestamp($9::float8),
        $10::float8, $11::float8, $12::bigint, $13, $14, $15)
ON CONFLICT (project_id, id) DO NOTHING RETURNING number;

-- name: session_commits_insert
-- same_as_ids: 0 for none.
-- arrays: len
-- in: project_id i64, session text, commit_ids i64[], statuses text[], reasons text[], same_as_ids i64[],
--    needs_s f64[]
INSERT INTO session_commits (project_id, session_id, ordinal, commit_id, status, reason, same_as_id, needs_s)
SELECT $1::bigint, $2, u.ordinal - 1, u.commit_id, u.status, u.reason, nullif(u.same_as_id, 0), u.needs_s
FROM unnest($3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::float8[]) WITH ORDINALITY
     AS u (commit_id, status, reason, same_as_id, needs_s, ordinal);

-- name: session_functions_insert
-- places: from 0 within a commit.
-- arrays: len
-- in: project_id i64, session text, commit_ids i64[], places i64[], names text[], before i64[], after i64[]
INSERT INTO session_functions (project_id, session_id, commit_id, place, name, before, after)
SELECT $1::bigint, $2, u.commit_id, u.place::int, u.name, u.before, u.after
FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[])
     AS u (commit_id, place, name, before, after);

-- name: session_functions
-- Of one commit, the largest change first.
-- in: project_id i64, session text, commit text
-- out: name text, before i64, after i64
SELECT f.name, f.before, f.after FROM session_functions f
JOIN commits c ON c.project_id = f.project_id AND c.id = f.commit_id
WHERE f.project_id = $1::bigint AND f.session_id = $2 AND c.sha = $3 ORDER BY f.place;

-- name: functions_between
-- As session_functions, of commit b against commit a: of the newest session that counted b's build right behind a's.
-- in: project_id i64, a text, b text
-- out: name text, before i64, after i64
SELECT f.name, f.before, f.after FROM session_functions f
JOIN (SELECT x.session_id, x.commit_id FROM session_commits x
      JOIN commits b ON b.project_id = x.project_id AND b.id = x.commit_id AND b.sha = $3
      JOIN sessions s ON s.project_id = x.project_id AND s.id = x.session_id
      JOIN commits a ON a.project_id = x.project_id AND a.sha = $2
      LEFT JOIN session_commits p ON p.project_id = x.project_id AND p.session_id = x.session_id
          AND p.ordinal = x.ordinal - 1
      WHERE x.project_id = $1::bigint AND coalesce(p.commit_id, s.base_id) = a.id
        AND coalesce(p.status, 'measured') = 'measured'
        AND EXISTS (SELECT FROM session_functions g WHERE g.project_id = x.project_id
                    AND g.session_id = x.session_id AND g.commit_id = x.commit_id)
      ORDER BY s.number DESC LIMIT 1) n ON n.session_id = f.session_id AND n.commit_id = f.commit_id
WHERE f.project_id = $1::bigint ORDER BY f.place;

-- name: session_object_code
-- Hashes of the object code that two commits' runs of the session name: "identical", "different", or NULL: a run names
-- none, or a side was not measured.
-- in: project_id i64, session text, a text, b text
-- out: object_code text
SELECT CASE WHEN count(*) = 2 AND bool_and(o.low = o.high AND o.known)
            THEN CASE WHEN min(o.low) = max(o.low) THEN 'identical' ELSE 'different' END END AS object_code
FROM (
    SELECT c.sha, min(v.extra ->> 'object') AS low, max(v.extra ->> 'object') AS high,
           count(v.extra ->> 'object') = count(*) AS known
    FROM runs r
    JOIN commits c ON c.project_id = r.project_id AND c.id = r.commit_id
    JOIN measurements v ON v.project_id = r.project_id AND v.run_id = r.id
    WHERE r.project_id = $1::bigint AND r.session_id = $2 AND c.sha IN ($3, $4)
    GROUP BY c.sha) o;

-- name: session_runs
-- The session's runs.
-- in: project_id i64, session text
-- out: id i64
SELECT id FROM runs WHERE project_id = $1::bigint AND session_id = $2 ORDER BY id;

-- name: sessions_list
-- Newest first.
-- in: project_id i64, id text?, cursor id, limit i64
-- out: number i64, id text, branch text, anchor text, base text, anchor_id i64, base_id i64, machine_class text,
--    machine text, started_at f64, finished_at f64, budget_s f64, spent_s f64, blocks i64, note text, pair_key text
SELECT s.number, s.id, s.branch, a.sha AS anchor, b.sha AS base, s.anchor_id, s.base_id, s.machine_class, s.machine,
       extract(epoch FROM s.started_at)::float8 AS started_at,
       extract(epoch FROM s.finished_at)::float8 AS finished_at, s.budget_s, s.spent_s, s.blocks, s.note,
       s.pair_key
FROM sessions s
JOIN commits a ON a.project_id = s.project_id AND a.id = s.anchor_id
JOIN commits b ON b.project_id = s.project_id AND b.id = s.base_id
WHERE s.project_id = $1::bigint AND ($2::text IS NULL OR s.id = $2) AND ($3::bigint IS NULL OR s.number < $3)
ORDER BY s.number DESC LIMIT $4::int;

-- name: session_commits
-- The commits of each session in the order of history.
-- in: project_id i64, sessions text[]
-- out: session_id text, commit_id i64, commit text, status text, reason text, same_as_id i64, same_as text,
--    needs_s f64, verdict text, within f64, open_s f64, worst json
SELECT x.session_id, x.commit_id, c.sha AS commit, x.status, x.reason, x.same_as_id, o.sha AS same_as, x.needs_s,
       x.verdict, x.within, x.open_s, x.worst::text AS worst
FROM session_commits x
JOIN commits c ON c.project_id = x.project_id AND c.id = x.commit_id
LEFT JOIN commits o ON o.project_id = x.project_id AND o.id = x.same_as_id
WHERE x.project_id = $1::bigint AND x.session_id = ANY ($2::text[])
ORDER BY x.session_id, x.ordinal;

-- name: session_verdicts_set
-- worst: JSON texts or NULL.
-- arrays: len
-- in: project_id i64, session text, commit_ids i64[], verdicts text[], within f64[], open_s f64[], worst text[]
UPDATE session_commits x
SET verdict = u.verdict, within = u.within, open_s = u.open_s, worst = u.worst::jsonb
FROM unnest($3::bigint[], $4::text[], $5::float8[], $6::float8[], $7::text[])
     AS u (commit_id, verdict, within, open_s, worst)
WHERE x.project_id = $1::bigint AND x.session_id = $2 AND x.commit_id = u.commit_id;
