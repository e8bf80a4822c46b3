-- name: runner_seen
-- Written only when something has changed, or the last write is some seconds old. project_id: of its token.
-- in: name text, machine_class text, labels text?, backends text[], project_id id
INSERT INTO runners AS r (name, machine_class, labels, backends, project_id)
VALUES ($1, $2, coalesce($3, '{}')::jsonb, $4::text[], $5::bigint)
ON CONFLICT (name) DO UPDATE
SET machine_class = excluded.machine_class, labels = excluded.labels,
    backends = excluded.backends, project_id = excluded.project_id, last_seen_at = now()
WHERE r.last_seen_at < now() - interval '5 seconds' OR r.machine_class <> excluded.machine_class
   OR r.labels <> excluded.labels OR r.backends <> excluded.backends
   OR r.project_id IS DISTINCT FROM excluded.project_id;

-- name: runners_list
-- Runners that work for the project, with jobs of that project only; NULL: all.
-- also: once
-- in: project_id id
-- out: name text, machine_class text, labels json, backends json, last_seen_at f64, job_id i64
SELECT r.name, r.machine_class, r.labels::text AS labels, to_json(r.backends)::text AS backends,
       extract(epoch FROM r.last_seen_at)::float8 AS last_seen_at,
       (SELECT j.id FROM jobs j WHERE j.state = 'leased' AND j.runner = r.name
        AND ($1::bigint IS NULL OR j.project_id = $1) ORDER BY j.id DESC LIMIT 1) AS job_id
FROM runners r WHERE $1::bigint IS NULL OR r.project_id IS NULL OR r.project_id = $1 ORDER BY r.name LIMIT 1000;

-- name: machines_list
-- before: the fingerprint that the machine had before this one; NULL: this is its first. project_id: machines that
-- have runs of it.
-- also: once
-- in: project_id id, cursor id, limit i64
-- out: id i64, class text, name text, fingerprint_hash text, fingerprint json, before json, first_seen_at f64,
--    last_seen_at f64, runs i64
SELECT k.id, k.class, k.name, k.fingerprint_hash, k.fingerprint::text AS fingerprint,
       (SELECT b.fingerprint::text FROM machines b
        WHERE b.class = k.class AND b.name = k.name AND b.id < k.id
          AND ($1::bigint IS NULL OR (SELECT sum(u.n) FROM tallies u WHERE u.project_id = $1::bigint
                                      AND u.what = 'runs' AND u.of = b.id) > 0)
        ORDER BY b.id DESC LIMIT 1) AS before,
       extract(epoch FROM k.first_seen_at)::float8 AS first_seen_at,
       extract(epoch FROM k.last_seen_at)::float8 AS last_seen_at,
       coalesce(t.runs, 0)::bigint AS runs
FROM machines k
LEFT JOIN (SELECT of, sum(n) AS runs FROM tallies
           WHERE what = 'runs' AND ($1::bigint IS NULL OR project_id = $1) GROUP BY of) t ON t.of = k.id
WHERE ($2::bigint IS NULL OR k.id > $2) AND ($1::bigint IS NULL OR t.runs > 0)
ORDER BY k.id LIMIT $3::int;
