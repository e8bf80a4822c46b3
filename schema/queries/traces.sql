-- Traces of runs.

-- name: trace_by_digest
-- in: project_id i64, run_id i64, digest text
-- out: id i64
SELECT id FROM traces WHERE project_id = $1::bigint AND run_id = $2::bigint AND digest = $3;

-- name: traces_count
-- in: project_id i64, run_id i64
-- value: traces i64
SELECT count(*) AS traces FROM traces WHERE project_id = $1::bigint AND run_id = $2::bigint;

-- name: trace_benchmark
-- The project has a benchmark of that name.
-- in: project_id i64, name text
-- value: known bool
SELECT EXISTS (SELECT 1 FROM benchmarks WHERE project_id = $1::bigint AND name = $2) AS known;

-- name: trace_insert
-- in: project_id i64, run_id i64, benchmark text?, title text, digest text, size i64, records i64, span_ns i64,
--    units i64, actor text, bytes bytes
-- value: id i64
INSERT INTO traces (project_id, run_id, benchmark, title, digest, size, records, span_ns, units, actor, bytes)
VALUES ($1::bigint, $2::bigint, $3, $4, $5, $6::bigint, $7::bigint, $8::bigint, $9::int, $10, $11::bytea)
RETURNING id;

-- name: traces_list
-- Of a run, oldest first.
-- row: trace
-- also: once
-- in: project_id i64, run_id i64
-- out: id i64, project_id i64, project text, run_id i64, run text, commit text, benchmark text, title text,
--    digest text, size i64, records i64, span_ns i64, units i64, actor text, stored_at f64
SELECT t.id, t.project_id, p.name AS project, t.run_id, r.run_id AS run, c.sha AS commit, t.benchmark, t.title,
       t.digest, t.size, t.records, t.span_ns, t.units, t.actor,
       extract(epoch FROM t.stored_at)::float8 AS stored_at
FROM traces t
JOIN projects p ON p.id = t.project_id
JOIN runs r ON r.project_id = t.project_id AND r.id = t.run_id
JOIN commits c ON c.project_id = r.project_id AND c.id = r.commit_id
WHERE t.project_id = $1::bigint AND t.run_id = $2::bigint
ORDER BY t.id;

-- name: trace_get
-- row: trace
-- also: once
-- in: id i64
-- out: id i64, project_id i64, project text, run_id i64, run text, commit text, benchmark text, title text,
--    digest text, size i64, records i64, span_ns i64, units i64, actor text, stored_at f64
SELECT t.id, t.project_id, p.name AS project, t.run_id, r.run_id AS run, c.sha AS commit, t.benchmark, t.title,
       t.digest, t.size, t.records, t.span_ns, t.units, t.actor,
       extract(epoch FROM t.stored_at)::float8 AS stored_at
FROM traces t
JOIN projects p ON p.id = t.project_id
JOIN runs r ON r.project_id = t.project_id AND r.id = t.run_id
JOIN commits c ON c.project_id = r.project_id AND c.id = r.commit_id
WHERE t.id = $1::bigint;

-- name: trace_bytes
-- also: once
-- in: id i64
-- out: bytes bytes
SELECT bytes FROM traces WHERE id = $1::bigint;

-- name: traces_of_commit
-- Traces of a benchmark, the newest first, at any run of the commit that the run measured; benchmark NULL: of any.
-- row: trace
-- also: once
-- in: project_id i64, run_id i64, benchmark text?, limit i64
-- out: id i64, project_id i64, project text, run_id i64, run text, commit text, benchmark text, title text,
--    digest text, size i64, records i64, span_ns i64, units i64, actor text, stored_at f64
SELECT t.id, t.project_id, p.name AS project, t.run_id, r.run_id AS run, c.sha AS commit, t.benchmark, t.title,
       t.digest, t.size, t.records, t.span_ns, t.units, t.actor,
       extract(epoch FROM t.stored_at)::float8 AS stored_at
FROM runs o
JOIN runs r ON r.project_id = o.project_id AND r.commit_id = o.commit_id AND r.quarantine_id IS NULL
JOIN traces t ON t.project_id = r.project_id AND t.run_id = r.id AND ($3::text IS NULL OR t.benchmark = $3)
JOIN projects p ON p.id = t.project_id
JOIN commits c ON c.project_id = r.project_id AND c.id = r.commit_id
WHERE o.project_id = $1::bigint AND o.id = $2::bigint
ORDER BY t.id DESC LIMIT $4::int;

-- name: trace_side
-- A run, the job that measured it, and the newest job that stores traces of its commit. job_id, asked: NULL: there is
-- none. labels: of the job, without the one of sessions.
-- in: project_id i64, run_id i64
-- out: run_id i64, commit text, branch text, job_id i64, suite text, source text, labels json, settings_branch text,
--    config text, asked i64, asked_state text
SELECT r.id AS run_id, c.sha AS commit, r.branch, j.id AS job_id, j.suite, j.source,
       (j.labels - 'tasks')::text AS labels, j.task ->> 'settings_branch' AS settings_branch,
       j.task ->> 'config' AS config, a.id AS asked, a.state AS asked_state
FROM runs r
JOIN commits c ON c.project_id = r.project_id AND c.id = r.commit_id
LEFT JOIN jobs j ON j.project_id = r.project_id AND j.id = r.job_id
LEFT JOIN LATERAL (SELECT k.id, k.state FROM jobs k
                   WHERE k.project_id = r.project_id AND k.sha = c.sha AND k.task ? 'traces'
                   ORDER BY k.id DESC LIMIT 1) a ON true
WHERE r.project_id = $1::bigint AND r.id = $2::bigint;
