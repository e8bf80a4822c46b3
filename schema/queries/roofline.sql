-- The roofline of a branch.

-- name: roofline_work
-- What results state about their work. Without a row when the result was thinned out.
-- arrays: len
-- in: project_id i64, series_ids i64[], run_ids i64[]
-- out: series_id i64, run_id i64, operations f64, bytes f64
SELECT m.series_id, m.run_id, m.operations, m.bytes
FROM unnest($2::bigint[], $3::bigint[]) AS u (series_id, run_id)
JOIN measurements m ON m.project_id = $1::bigint AND m.series_id = u.series_id AND m.run_id = u.run_id;

-- name: roofline_ceilings
-- Of each machine class, the ceilings that held at the run: the newest of that run or of one before it, newest first;
-- last the oldest of a run after it.
-- arrays: len
-- in: project_id i64, machine_classes text[], run_ids i64[], limit i64
-- out: machine_class text, run_id i64, started_at f64, ceilings json
SELECT u.machine_class, c.run_id, extract(epoch FROM c.started_at)::float8 AS started_at, c.ceilings::text AS ceilings
FROM unnest($2::text[], $3::bigint[]) WITH ORDINALITY AS u (machine_class, run_id, ordinal)
CROSS JOIN LATERAL (
    (SELECT q.run_id, r.started_at, q.ceilings
     FROM run_parts q
     JOIN runs r ON r.project_id = q.project_id AND r.id = q.run_id AND r.quarantine_id IS NULL
     JOIN machines k ON k.id = r.machine_id AND k.class = u.machine_class
     WHERE q.project_id = $1::bigint AND q.ceilings IS NOT NULL AND q.run_id <= u.run_id
     ORDER BY q.run_id DESC LIMIT $4::int)
    UNION ALL
    (SELECT q.run_id, r.started_at, q.ceilings
     FROM run_parts q
     JOIN runs r ON r.project_id = q.project_id AND r.id = q.run_id AND r.quarantine_id IS NULL
     JOIN machines k ON k.id = r.machine_id AND k.class = u.machine_class
     WHERE q.project_id = $1::bigint AND q.ceilings IS NOT NULL AND q.run_id > u.run_id
     ORDER BY q.run_id LIMIT 1)) c
ORDER BY u.ordinal, c.run_id > u.run_id, c.run_id DESC;
