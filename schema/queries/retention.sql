-- Old partitions: see migrations 0005, 0018, 0023 and 0072.

-- name: retention_due
-- Partitions whose measurements are not thinned as the settings say, oldest first: those that lie before the months
-- that are kept. raw_months: months with all measurements. day_months: months with a measurement a day, 0 for ever.
-- since: its first day.
-- in: raw_months i64, day_months i64
-- out: since text, until text, keep_days bool
SELECT to_char(p.since, 'YYYY-MM-DD') AS since, to_char(p.until, 'YYYY-MM-DD') AS until, p.keep_days
FROM (SELECT q.since, q.until, $2::int = 0 OR q.until > m.present - make_interval(months => $2::int) AS keep_days
      FROM measurements_partitions q
      CROSS JOIN (SELECT date_trunc('month', now() AT TIME ZONE 'UTC') AS present) m
      WHERE q.until <= m.present - make_interval(months => $1::int)
        AND q.since = date_trunc('day', q.since) AND q.until = date_trunc('day', q.until)) AS p
LEFT JOIN retention r ON r.month = p.since::date
WHERE r.month IS NULL OR (r.kept = 'days' AND NOT p.keep_days)
ORDER BY p.since;

-- name: upkeep_limits
-- For this transaction. It may last as long as moving rows lasts, but a transaction that waits for its locks waits no
-- longer than lock_timeout.
-- in: lock_timeout text
-- out: set_config void, set_config void
SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', $1, true);

-- name: retention_thin
-- in: since date, keep_days bool
-- out: rows_before i64, rows_after i64
SELECT rows_before, rows_after FROM retention_thin($1::date, $2::boolean);

-- name: jobs_prune
-- Finished jobs of the server itself. The job of a run is made when the run is stored, and that of a notice with the
-- notice: the job of a younger run still exists.
-- in: days i64, limit i64
-- out: count
DELETE FROM jobs j USING (
    SELECT project_id, id FROM jobs
    WHERE created_at < now() - make_interval(days => $1::int)
      AND finished_at < now() - make_interval(days => $1::int)
      AND kind IN ('detect', 'notify') AND state IN ('done', 'cancelled')
    LIMIT $2::int FOR UPDATE SKIP LOCKED) old
WHERE j.project_id = old.project_id AND j.id = old.id;
