-- Old measurements become one a series and day; a month is rewritten whole, so that its space comes
-- back at once and no row is deleted one by one.

-- The thinning applied to a month: `days` has one measurement for each series, machine and day of the
-- history, `referred` only what something refers to.
CREATE TABLE retention (
    month       date PRIMARY KEY,
    kept        text NOT NULL CHECK (kept IN ('days', 'referred')),
    rows_before bigint NOT NULL,
    rows_after  bigint NOT NULL,
    at          timestamptz NOT NULL DEFAULT now()
);

-- Measurements that stay as they are, whatever their age: those around a change that is seen, or that
-- has an alert (so accepted levels, too), within 30 commits, which is more than the detector wants on
-- either side; those of commits that a bisection names, of its runs, and of the runs that open and
-- close an environment event.
CREATE VIEW measurements_referred AS
WITH spans AS (
    SELECT x.project_id, x.series_id, s.branch, l.position - 30 AS low, h.position + 30 AS high
    FROM change_points x
    JOIN series s ON s.project_id = x.project_id AND s.id = x.series_id
    JOIN branch_commits l ON l.project_id = x.project_id AND l.commit_id = x.commit_low_id
        AND l.branch = s.branch
    JOIN branch_commits h ON h.project_id = x.project_id AND h.commit_id = x.commit_high_id
        AND h.branch = s.branch
    WHERE x.gone_at IS NULL OR EXISTS (
        SELECT 1 FROM alerts a WHERE a.project_id = x.project_id AND a.change_point_id = x.id)
    UNION ALL
    SELECT x.project_id, x.series_id, s.branch, u.position - 30, u.position + 30
    FROM change_points x
    JOIN series s ON s.project_id = x.project_id AND s.id = x.series_id
    JOIN branch_commits u ON u.project_id = x.project_id AND u.commit_id = x.undone_commit_id
        AND u.branch = s.branch),
named AS (
    SELECT b.project_id, t.sha FROM bisections b
    CROSS JOIN LATERAL (
        SELECT b.good UNION ALL SELECT b.bad
        UNION ALL SELECT jsonb_path_query(b.culprits, '$[*].commits[*]') #>> '{}'
        UNION ALL SELECT jsonb_path_query(b.steps, '$[*].commit') #>> '{}'
        UNION ALL SELECT b.line[p.place + 1] FROM bisection_steps p
                  WHERE p.project_id = b.project_id AND p.bisection_id = b.id) AS t (sha)
    UNION SELECT a.project_id, a.culprit FROM alerts a WHERE a.culprit IS NOT NULL),
named_runs AS (
    SELECT project_id, run_id FROM bisection_steps WHERE run_id IS NOT NULL
    UNION SELECT r.project_id, r.id FROM jobs j
    JOIN runs r ON r.project_id = j.project_id AND r.job_id = j.id
    WHERE j.kind IN ('bisect', 'verify')
    UNION SELECT project_id, first_run_id FROM environment_events
    UNION SELECT project_id, last_run_id FROM environment_events)
SELECT m.project_id, m.series_id, m.run_id, m.stored_at FROM measurements m
JOIN spans x ON x.project_id = m.project_id AND x.series_id = m.series_id
JOIN branch_commits b ON b.project_id = m.project_id AND b.commit_id = m.commit_id
    AND b.branch = x.branch AND b.position BETWEEN x.low AND x.high
UNION
SELECT m.project_id, m.series_id, m.run_id, m.stored_at FROM measurements m
JOIN commits c ON c.project_id = m.project_id AND c.id = m.commit_id
JOIN named n ON n.project_id = c.project_id AND c.sha = n.sha
UNION
SELECT m.project_id, m.series_id, m.run_id, m.stored_at FROM measurements m
JOIN named_runs n ON n.project_id = m.project_id AND n.run_id = m.run_id;

-- Rewrites the partition of a month (its first day, UTC): what is referred to stays, of the rest stays
-- one measurement a series, machine and day of the commits' time (keep_days), or nothing. Returns the
-- rows before and after; NULLs when there is no such partition. One transaction: a reader sees the
-- month either as it was or as it is afterwards.
CREATE FUNCTION retention_apply(month date, keep_days boolean, OUT rows_before bigint,
                                OUT rows_after bigint)
LANGUAGE plpgsql SET timezone = 'UTC' SET search_path = public AS $$
DECLARE
    old   text := 'measurements_' || to_char(month, 'YYYYMM');
    fresh text := old || '_new';
BEGIN
    PERFORM pg_advisory_xact_lock(74202027);
    IF to_regclass(old) IS NULL THEN
        RETURN;
    END IF;
    EXECUTE format('LOCK TABLE ONLY %I IN SHARE ROW EXCLUSIVE MODE', old);
    EXECUTE format('SELECT count(*) FROM ONLY %I', old) INTO rows_before;
    EXECUTE format('CREATE TABLE %I (LIKE measurements INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', fresh);
    CREATE TEMP TABLE retention_kept ON COMMIT DROP AS
    SELECT * FROM measurements_referred
    WHERE stored_at >= retention_apply.month
      AND stored_at < retention_apply.month + interval '1 month';
    CREATE INDEX ON retention_kept (run_id, series_id);
    ANALYZE retention_kept;
    -- No day mixes what was measured before a change with what came after it.
    CREATE TEMP TABLE retention_steps ON COMMIT DROP AS
    SELECT DISTINCT x.series_id, b.position FROM change_points x
    JOIN series s ON s.project_id = x.project_id AND s.id = x.series_id
    JOIN branch_commits b ON b.project_id = x.project_id AND b.commit_id = x.commit_id
        AND b.branch = s.branch
    WHERE x.gone_at IS NULL AND b.position IS NOT NULL;
    CREATE INDEX ON retention_steps (series_id, position);
    ANALYZE retention_steps;
    EXECUTE format('INSERT INTO %I SELECT m.* FROM ONLY %I m WHERE EXISTS ('
                   'SELECT 1 FROM retention_kept k WHERE k.run_id = m.run_id'
                   ' AND k.series_id = m.series_id AND k.project_id = m.project_id)', fresh, old);
    IF keep_days THEN
        -- The newest commit of the day stands for it by its newest run, as it was measured: a median
        -- of several runs would be less noisy than the runs that come after, and the detector would
        -- see changes in that. low and high become the extremes of the day's medians.
        EXECUTE format($sql$
            INSERT INTO %I
            WITH rest AS (
                SELECT m.*, r.infra, r.machine_id, c.time, (c.time AT TIME ZONE 'UTC')::date AS day,
                       (SELECT count(*) FROM retention_steps t
                        WHERE t.series_id = m.series_id AND t.position <= b.position) AS level
                FROM ONLY %I m
                JOIN runs r ON r.project_id = m.project_id AND r.id = m.run_id
                JOIN commits c ON c.project_id = m.project_id AND c.id = m.commit_id
                JOIN series s ON s.project_id = m.project_id AND s.id = m.series_id
                LEFT JOIN branch_commits b ON b.project_id = m.project_id
                    AND b.commit_id = m.commit_id AND b.branch = s.branch
                WHERE NOT EXISTS (
                    SELECT 1 FROM retention_kept k WHERE k.run_id = m.run_id
                    AND k.series_id = m.series_id AND k.project_id = m.project_id)),
            ranked AS (
                SELECT rest.*, row_number() OVER w AS place, count(*) OVER p AS many,
                       min(median) OVER p AS lowest, max(median) OVER p AS highest,
                       min(min) OVER p AS day_min
                FROM rest
                WINDOW p AS (PARTITION BY project_id, series_id, day, level, machine_id, infra),
                       w AS (p ORDER BY time DESC, run_id DESC))
            SELECT project_id, series_id, run_id, commit_id, stored_at, n, median,
                   CASE WHEN many > 1 THEN lowest ELSE low END,
                   CASE WHEN many > 1 THEN highest ELSE high END, day_min, samples, blocks, extra
            FROM ranked WHERE place = 1$sql$, fresh, old);
    END IF;
    EXECUTE format('SELECT count(*) FROM %I', fresh) INTO rows_after;
    -- Readers wait only here, while the partitions are exchanged.
    EXECUTE format('ALTER TABLE measurements DETACH PARTITION %I', old);
    EXECUTE format('DROP TABLE %I', old);
    EXECUTE format('ALTER TABLE %I RENAME TO %I', fresh, old);
    EXECUTE format('ALTER TABLE measurements ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', old,
                   month::timestamptz, (month + interval '1 month')::timestamptz);
    INSERT INTO retention (month, kept, rows_before, rows_after)
    VALUES (retention_apply.month, CASE WHEN keep_days THEN 'days' ELSE 'referred' END,
            retention_apply.rows_before, retention_apply.rows_after)
    ON CONFLICT ON CONSTRAINT retention_pkey DO UPDATE SET kept = excluded.kept, rows_before = excluded.rows_before,
                                      rows_after = excluded.rows_after, at = now();
    INSERT INTO audit (actor, action, object, detail)
    VALUES ('perfci-server', 'retain', old, rows_before || ' rows, ' || rows_after || ' stay');
END $$;
