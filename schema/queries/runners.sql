-- name: runner_seen
-- Written only when something has changed, or the last write is some seconds old. project_id: of its token. token_id:
-- that token; NULL: none.
-- in: name text, machine_class text, labels text?, backends text[], project_id id, token_id id
INSERT INTO runners AS r (name, machine_class, labels, backends, project_id, token_ids)
VALUES ($1, $2, coalesce($3, '{}')::jsonb, $4::text[], $5::bigint, array_remove(ARRAY[$6::bigint], NULL))
ON CONFLICT (name, coalesce(project_id, 0)) DO UPDATE
SET machine_class = excluded.machine_class, labels = excluded.labels, backends = excluded.backends, last_seen_at = now(),
    token_ids = CASE WHEN r.token_ids @> excluded.token_ids THEN r.token_ids ELSE r.token_ids || excluded.token_ids END
WHERE NOT r.token_ids @> excluded.token_ids OR r.last_seen_at < now() - interval '5 seconds' OR r.machine_class <> excluded.machine_class
   OR r.labels <> excluded.labels OR r.backends <> excluded.backends;

-- name: runners_list
-- Runners that work for the project, with jobs and quarantines of that project only; NULL: all. results: runs of the
-- jobs that it ended; NULL: also of other projects. oldest_s: age of the oldest result that it has not uploaded. state: revoked, draining (it still has a
-- job), drained, busy, idle, or silent when it sent no request for 5 minutes.
-- also: once
-- in: project_id id
-- out: name text, machine_class text, labels json, backends json, last_seen_at f64, job_id i64, project text,
--    state text, version text, sandbox text, documents i64, oldest_s f64, disk_free_bytes i64, status_at f64,
--    alarm text, results i64, drained_at f64, drained_by text, revoked_at f64, revoked_by text, quarantine json
SELECT r.name, r.machine_class, r.labels::text AS labels, to_json(r.backends)::text AS backends,
       extract(epoch FROM r.last_seen_at)::float8 AS last_seen_at, j.id AS job_id, p.name AS project,
       CASE WHEN r.revoked_at IS NOT NULL THEN 'revoked'
            WHEN r.drained_at IS NOT NULL AND j.id IS NOT NULL THEN 'draining'
            WHEN r.drained_at IS NOT NULL THEN 'drained'
            WHEN j.id IS NOT NULL THEN 'busy'
            WHEN r.last_seen_at < now() - interval '5 minutes' THEN 'silent'
            ELSE 'idle' END AS state,
       r.version, r.sandbox, r.spool_documents AS documents,
       CASE WHEN r.spool_documents > 0 THEN r.spool_oldest_s + extract(epoch FROM now() - r.status_at)::float8 END AS oldest_s,
       r.disk_free_bytes, extract(epoch FROM r.status_at)::float8 AS status_at, runner_alarm(r) AS alarm,
       CASE WHEN $1::bigint IS NULL OR r.project_id = $1 THEN r.results END AS results,
       extract(epoch FROM r.drained_at)::float8 AS drained_at, r.drained_by,
       extract(epoch FROM r.revoked_at)::float8 AS revoked_at, r.revoked_by,
       (SELECT json_build_object('id', q.id, 'since', to_char(q.since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                                 'runs', q.runs, 'actor', q.actor, 'reason', q.reason)::text
        FROM quarantines q WHERE q.released_at IS NULL AND q.runner = r.name
          AND q.project_id IS NOT DISTINCT FROM r.project_id) AS quarantine
FROM runners r
LEFT JOIN projects p ON p.id = r.project_id
LEFT JOIN LATERAL (
    SELECT l.id FROM jobs l WHERE l.state = 'leased' AND l.runner = r.name
    AND (r.project_id IS NULL OR l.project_id = r.project_id)
    AND ($1::bigint IS NULL OR l.project_id = $1) ORDER BY l.id DESC LIMIT 1) j ON true
WHERE $1::bigint IS NULL OR r.project_id IS NULL OR r.project_id = $1 ORDER BY r.name LIMIT 1000;

-- name: machines_list
-- before: the fingerprint that the machine had before this one; NULL: this is its first. project_id: machines that
-- have runs of it, and the times are of these. measured: when the machine measured, by the runs' own times.
-- also: once
-- in: project_id id, cursor id, limit i64
-- out: id i64, class text, name text, fingerprint_hash text, fingerprint json, before json, first_seen_at f64,
--    last_seen_at f64, first_measured_at f64, last_measured_at f64, runs i64
SELECT k.id, k.class, k.name, k.fingerprint_hash, k.fingerprint::text AS fingerprint,
       (SELECT b.fingerprint::text FROM machines b
        WHERE b.class = k.class AND b.name = k.name AND b.id < k.id
          AND ($1::bigint IS NULL OR (SELECT sum(u.n) FROM tallies u WHERE u.project_id = $1::bigint
                                      AND u.what = 'runs' AND u.of = b.id) > 0)
        ORDER BY b.id DESC LIMIT 1) AS before,
       extract(epoch FROM k.first_seen_at)::float8 AS first_seen_at,
       extract(epoch FROM k.last_seen_at)::float8 AS last_seen_at,
       extract(epoch FROM w.first)::float8 AS first_measured_at, extract(epoch FROM w.last)::float8 AS last_measured_at,
       coalesce(t.runs, 0)::bigint AS runs
FROM machines k
LEFT JOIN (SELECT of, sum(n) AS runs FROM tallies
           WHERE what = 'runs' AND ($1::bigint IS NULL OR project_id = $1) GROUP BY of) t ON t.of = k.id
CROSS JOIN LATERAL ( -- two probes of the index for each project
    SELECT min(e.started_at) AS first, max(l.started_at) AS last FROM projects p
    CROSS JOIN LATERAL (SELECT r.started_at FROM runs r WHERE r.machine_id = k.id AND r.project_id = p.id
                        ORDER BY r.started_at LIMIT 1) e
    CROSS JOIN LATERAL (SELECT r.started_at FROM runs r WHERE r.machine_id = k.id AND r.project_id = p.id
                        ORDER BY r.started_at DESC LIMIT 1) l
    WHERE $1::bigint IS NULL OR p.id = $1) w
WHERE ($2::bigint IS NULL OR k.id > $2) AND ($1::bigint IS NULL OR t.runs > 0)
ORDER BY k.id LIMIT $3::int;

-- name: machine_canaries
-- Newest values of the canary's series on each machine that measured the project, newest first; infra: kept out of
-- detection. limit: values of each fingerprint; a machine has several when its fingerprint changed.
-- row: machine_canary
-- also: once
-- in: project_id i64, limit i64
-- out: series_id i64, machine_class text, machine text, metric text, backend text, branch text, unit text, time f64,
--    median f64, infra bool
SELECT s.id AS series_id, s.machine_class, k.name AS machine, s.metric, s.backend, s.branch, s.unit,
       extract(epoch FROM r.started_at)::float8 AS time, m.median, r.infra
FROM machines k
CROSS JOIN LATERAL (
    SELECT n.id, n.commit_id, n.started_at, n.infra FROM runs n
    WHERE n.machine_id = k.id AND n.project_id = $1::bigint AND n.quarantine_id IS NULL
    ORDER BY n.started_at DESC LIMIT $2::int) r
JOIN measurements m ON m.project_id = $1::bigint AND m.commit_id = r.commit_id AND m.run_id = r.id
JOIN series s ON s.project_id = m.project_id AND s.id = m.series_id
JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id AND b.name = 'canary'
WHERE EXISTS (SELECT 1 FROM tallies t WHERE t.project_id = $1::bigint AND t.what = 'runs' AND t.of = k.id AND t.n > 0)
ORDER BY s.machine_class, k.name, s.id, r.started_at DESC LIMIT 20000;
