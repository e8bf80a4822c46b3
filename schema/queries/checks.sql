-- Invariants of every database at every moment, whatever failed before.

-- name: store_checks
-- Each row counts violations of one invariant; 0 is expected.
-- out: what text, wrong i64
SELECT 'parts without their run' AS what, count(*) AS wrong FROM run_parts q
WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.project_id = q.project_id AND r.id = q.run_id)
UNION ALL
SELECT 'runs without a part', count(*) FROM runs r
WHERE NOT EXISTS (SELECT 1 FROM run_parts q WHERE q.project_id = r.project_id AND q.run_id = r.id)
UNION ALL
SELECT 'measurements without their run, commit or series', count(*) FROM measurements m
WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.project_id = m.project_id AND r.id = m.run_id
                  AND r.commit_id = m.commit_id)
   OR NOT EXISTS (SELECT 1 FROM series s WHERE s.project_id = m.project_id AND s.id = m.series_id)
UNION ALL
SELECT 'measurements stored twice', count(*) FROM (
    SELECT 1 FROM measurements GROUP BY project_id, run_id, series_id HAVING count(*) > 1) AS twice
UNION ALL
SELECT 'runs whose parts do not sum up to what is stored', count(*) FROM (
    SELECT q.project_id, q.run_id, sum(q.series) AS reported FROM run_parts q
    GROUP BY q.project_id, q.run_id) AS q
JOIN runs r ON r.project_id = q.project_id AND r.id = q.run_id
WHERE r.quarantine_id IS NULL AND NOT EXISTS (SELECT 1 FROM retention t
                  WHERE (r.received_at AT TIME ZONE 'UTC')::date >= t.month
                    AND (r.received_at AT TIME ZONE 'UTC')::date < coalesce(t.until, t.month + interval '1 month'))
  AND q.reported <> (SELECT count(*) FROM measurements m
                 WHERE m.project_id = r.project_id AND m.commit_id = r.commit_id
                 AND m.run_id = r.id)
UNION ALL
SELECT 'measurements whose samples do not fit their number or blocks', count(*) FROM measurements
WHERE cardinality(samples) <> n OR (SELECT coalesce(sum(b), 0) FROM unnest(blocks) AS b) <> n
UNION ALL
SELECT 'measurements whose figures are not those of their samples', count(*) FROM measurements m
CROSS JOIN LATERAL (SELECT min(x) AS least, max(x) AS most FROM unnest(m.samples) AS x) AS q
WHERE m.n > 0 AND NOT (m.min <= q.least AND m.median BETWEEN q.least AND q.most
                       AND m.median BETWEEN m.low AND m.high)
UNION ALL
SELECT 'runs that are never judged', count(*) FROM run_parts q -- those jobs stay for a month at least
WHERE q.series > 0 AND q.received_at > now() - interval '28 days' AND NOT EXISTS (
    SELECT 1 FROM jobs j
    WHERE j.project_id = q.project_id AND j.run_id = q.run_id AND j.kind = 'detect')
UNION ALL
SELECT 'jobs that ended at no time', count(*) FROM jobs
WHERE (state IN ('done', 'failed', 'cancelled')) <> (finished_at IS NOT NULL)
UNION ALL
SELECT 'jobs that are leased to nobody', count(*) FROM jobs
WHERE state = 'leased' AND (lease_hash IS NULL OR runner IS NULL)
UNION ALL
SELECT 'jobs that were tried more often than is allowed', count(*) FROM jobs
WHERE tries > 3 AND kind <> 'notify'
UNION ALL
SELECT 'jobs of a run or notice that is not there', count(*) FROM jobs j
WHERE (j.run_id IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM runs r WHERE r.project_id = j.project_id AND r.id = j.run_id))
   OR (j.kind = 'notify' AND NOT EXISTS (
           SELECT 1 FROM notices n WHERE n.project_id = j.project_id
           AND n.id = (j.task ->> 'notice')::bigint))
UNION ALL
SELECT 'notices of a missing alert, or marked as sent without a delivery', count(*) FROM notices n
WHERE (n.alert_id IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM alerts a WHERE a.project_id = n.project_id AND a.id = n.alert_id))
   OR (n.dispatched_at IS NOT NULL AND n.done_at IS NULL AND NOT EXISTS (
           SELECT 1 FROM jobs j WHERE j.project_id = n.project_id AND j.kind = 'notify'
           AND (j.task ->> 'notice')::bigint = n.id))
UNION ALL
SELECT 'changes at commits that are not there', count(*) FROM change_points x
WHERE EXISTS (SELECT 1 FROM (VALUES (x.commit_id), (x.commit_low_id), (x.commit_high_id),
                                    (x.undone_commit_id)) AS t (id)
              WHERE t.id IS NOT NULL AND NOT EXISTS (
                  SELECT 1 FROM commits c WHERE c.project_id = x.project_id AND c.id = t.id))
UNION ALL
SELECT 'steps of a search whose job or run is not there', count(*) FROM (
    SELECT project_id, job_id, run_id FROM bisection_steps
    UNION ALL SELECT project_id, job_id, NULL FROM verification_pairs) AS s
WHERE (s.job_id IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM jobs j WHERE j.project_id = s.project_id AND j.id = s.job_id))
   OR (s.run_id IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM runs r WHERE r.project_id = s.project_id AND r.id = s.run_id))
UNION ALL
SELECT 'events between runs that are not there', count(*) FROM (
    SELECT project_id, first_run_id, last_run_id FROM environment_events
    UNION ALL SELECT project_id, first_run_id, last_run_id FROM machine_shifts) AS e
WHERE EXISTS (SELECT 1 FROM (VALUES (e.first_run_id), (e.last_run_id)) AS t (id)
              WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.project_id = e.project_id AND r.id = t.id))
UNION ALL
SELECT 'branches whose line has gaps or places taken twice', count(*) FROM (
    SELECT 1 FROM branch_commits GROUP BY project_id, branch
    HAVING count(position) <> coalesce(max(position), 0)
        OR count(position) <> count(DISTINCT position)) AS l
UNION ALL
SELECT 'alerts whose history does not end in their state', count(*) FROM alerts a
WHERE EXISTS (SELECT 1 FROM alert_events e
              WHERE e.project_id = a.project_id AND e.alert_id = a.id)
  AND a.state <> (SELECT e.state_to FROM alert_events e
                  WHERE e.project_id = a.project_id AND e.alert_id = a.id ORDER BY e.id DESC LIMIT 1)
UNION ALL
SELECT 'alerts without their change', count(*) FROM alerts a
WHERE NOT EXISTS (SELECT 1 FROM change_points x
                  WHERE x.project_id = a.project_id AND x.id = a.change_point_id
                  AND x.series_id = a.series_id)
UNION ALL
SELECT 'hidden alerts without the record of their rule', count(*) FROM alerts a
WHERE a.suppressed_by IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM suppressed_alerts h WHERE h.project_id = a.project_id AND h.suppression_id = a.suppressed_by
    AND h.alert_id = a.id AND h.released_at IS NULL)
UNION ALL
SELECT 'runs with more traces than a run may have', count(*) FROM (
    SELECT 1 FROM traces GROUP BY project_id, run_id HAVING count(*) > 16) AS many
UNION ALL
SELECT 'gaps in the schema''s versions', max(version) - count(*) FROM schema_migrations
UNION ALL
SELECT 'chunks that are not what their measurements are', count(*) FROM series_chunks k
JOIN series s ON s.project_id = k.project_id AND s.id = k.series_id
JOIN branches v ON v.project_id = s.project_id AND v.name = s.branch AND v.line_version = k.line_version
WHERE k.packed <> (SELECT coalesce(string_agg(p.packed, '' ORDER BY p.position, p.run_id), '')
                   FROM series_points p
                   WHERE p.project_id = k.project_id AND p.series_id = k.series_id
                   AND p.branch = s.branch AND p.stored_at >= k.from_at AND p.stored_at < k.until_at)
UNION ALL
SELECT 'tallies that are not what they count', count(*) FROM (
    SELECT project_id, what, of, sum(n) AS n FROM (
        SELECT project_id, what, of, n FROM tallies
        UNION ALL SELECT project_id, 'commits', 0, -1 FROM commits
        UNION ALL SELECT project_id, 'series', 0, -1 FROM series
        UNION ALL SELECT project_id, 'runs', machine_id, -1 FROM runs
        UNION ALL SELECT project_id, 'measurements', 0, -measurements FROM run_parts) AS both_ways
    GROUP BY project_id, what, of HAVING sum(n) <> 0) AS off
UNION ALL
SELECT 'series that the list does not find or sorts by another change', count(*) FROM series s
LEFT JOIN series_keys k ON k.project_id = s.project_id AND k.series_id = s.id
WHERE k.series_id IS NULL OR ((k.direction <> 0 OR EXISTS (
          SELECT 1 FROM change_points x WHERE x.project_id = s.project_id AND x.series_id = s.id AND x.gone_at IS NULL))
      AND ROW(k.change, k.direction) IS DISTINCT FROM (
          SELECT ROW(n.change, n.direction) FROM series_newest_change(s.project_id, s.id, s.branch) AS n))
UNION ALL
SELECT 'rows in the default partition', count(*) FROM measurements_default;
