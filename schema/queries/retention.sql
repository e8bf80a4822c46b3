-- Old months: see migrations 0005, 0018 and 0023.

-- name: retention_due
-- Months whose measurements are not thinned as the settings say, oldest first. raw_months: months with all
-- measurements. day_months: months with a measurement a day, 0 for ever.
-- in: raw_months i64, day_months i64
-- out: month text, keep_days bool
SELECT to_char(p.month, 'YYYY-MM-DD') AS month, p.keep_days
FROM (SELECT q.month, $2::int = 0 OR q.month >= date_trunc('month', now())
                 - make_interval(months => $2::int) AS keep_days
      FROM (SELECT to_timestamp(right(c.relname, 6), 'YYYYMM') AS month
            FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = 'measurements'::regclass AND c.relname ~ '^measurements_[0-9]{6}$') AS q
      WHERE q.month < date_trunc('month', now()) - make_interval(months => $1::int)) AS p
LEFT JOIN retention r ON r.month = p.month::date
WHERE r.month IS NULL OR (r.kept = 'days' AND NOT p.keep_days)
ORDER BY p.month;

-- name: upkeep_limits
-- For this transaction. It may last as long as moving rows lasts, but a transaction that waits for its locks waits no
-- longer than lock_timeout.
-- in: lock_timeout text
-- out: set_config void, set_config void
SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', $1, true);

-- name: retention_apply
-- in: month date, keep_days bool
-- out: rows_before i64, rows_after i64
SELECT rows_before, rows_after FROM retention_apply($1::date, $2::boolean);

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
