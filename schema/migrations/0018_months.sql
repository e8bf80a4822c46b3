-- Months without a partition of their own, and further references to old measurements.

-- Makes the partition of a month (its first day, UTC) when there is none, and moves into it what came in
-- before it and is in the default partition: a service that was stopped for months, or ran without
-- workers, would otherwise never get that month's partition again. Returns the rows moved; NULL when the
-- partition was there. One transaction, one at a time; transactions that store a run wait while rows are moved.
CREATE FUNCTION measurements_month(month date) RETURNS bigint
LANGUAGE plpgsql SET timezone = 'UTC' SET search_path = public AS $$
DECLARE
    part  text := 'measurements_' || to_char(month, 'YYYYMM');
    since timestamptz := date_trunc('month', month::timestamptz);
    until timestamptz := since + interval '1 month';
    moved bigint := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(74202027);
    -- A lock that attaching needs anyway; and only a table's lock lets us see what others made before it.
    LOCK TABLE ONLY measurements IN SHARE UPDATE EXCLUSIVE MODE;
    IF to_regclass(part) IS NOT NULL THEN
        RETURN NULL;
    END IF;
    -- Attaching needs this lock in any case; taken first, nothing can come in behind the move.
    LOCK TABLE measurements_default IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('CREATE TABLE %I (LIKE measurements INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part);
    IF EXISTS (SELECT 1 FROM measurements_default WHERE stored_at >= since AND stored_at < until) THEN
        EXECUTE format('INSERT INTO %I SELECT * FROM measurements_default'
                       ' WHERE stored_at >= %L AND stored_at < %L', part, since, until);
        GET DIAGNOSTICS moved = ROW_COUNT;
        DELETE FROM measurements_default WHERE stored_at >= since AND stored_at < until;
    END IF;
    EXECUTE format('ALTER TABLE measurements ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', part, since,
                   until);
    RETURN moved;
END $$;

-- As in migration 0005, and: the runs between which a machine's step lies, the commits of a verification,
-- and the commits of a change themselves, which may lie on the line no more when history was rewritten.
CREATE OR REPLACE VIEW measurements_referred AS
WITH changes AS (
    SELECT x.project_id, x.series_id, s.branch, x.commit_id, x.commit_low_id, x.commit_high_id,
           x.undone_commit_id,
           x.gone_at IS NULL OR EXISTS (SELECT 1 FROM alerts a WHERE a.project_id = x.project_id
                                        AND a.change_point_id = x.id) AS stands
    FROM change_points x
    JOIN series s ON s.project_id = x.project_id AND s.id = x.series_id),
spans AS (
    SELECT x.project_id, x.series_id, x.branch, l.position - 30 AS low, h.position + 30 AS high
    FROM changes x
    JOIN branch_commits l ON l.project_id = x.project_id AND l.commit_id = x.commit_low_id
        AND l.branch = x.branch
    JOIN branch_commits h ON h.project_id = x.project_id AND h.commit_id = x.commit_high_id
        AND h.branch = x.branch
    WHERE x.stands
    UNION ALL
    SELECT x.project_id, x.series_id, x.branch, u.position - 30, u.position + 30
    FROM changes x
    JOIN branch_commits u ON u.project_id = x.project_id AND u.commit_id = x.undone_commit_id
        AND u.branch = x.branch),
places AS (
    SELECT x.project_id, x.series_id, t.commit_id FROM changes x
    CROSS JOIN LATERAL (VALUES (x.commit_id), (x.commit_low_id), (x.commit_high_id),
                               (x.undone_commit_id)) AS t (commit_id)
    WHERE x.stands),
named AS (
    SELECT b.project_id, t.sha FROM bisections b
    CROSS JOIN LATERAL (
        SELECT b.good UNION ALL SELECT b.bad
        UNION ALL SELECT jsonb_path_query(b.culprits, '$[*].commits[*]') #>> '{}'
        UNION ALL SELECT jsonb_path_query(b.steps, '$[*].commit') #>> '{}'
        UNION ALL SELECT b.line[p.place + 1] FROM bisection_steps p
                  WHERE p.project_id = b.project_id AND p.bisection_id = b.id) AS t (sha)
    UNION SELECT v.project_id, t.sha FROM verifications v
    CROSS JOIN LATERAL (VALUES (v.before), (v.after)) AS t (sha)
    UNION SELECT a.project_id, a.culprit FROM alerts a WHERE a.culprit IS NOT NULL),
named_runs AS (
    SELECT project_id, run_id FROM bisection_steps WHERE run_id IS NOT NULL
    UNION SELECT r.project_id, r.id FROM jobs j
    JOIN runs r ON r.project_id = j.project_id AND r.job_id = j.id
    WHERE j.kind IN ('bisect', 'verify')
    UNION SELECT project_id, first_run_id FROM environment_events
    UNION SELECT project_id, last_run_id FROM environment_events
    UNION SELECT project_id, first_run_id FROM machine_shifts
    UNION SELECT project_id, last_run_id FROM machine_shifts)
SELECT m.project_id, m.series_id, m.run_id, m.stored_at FROM measurements m
JOIN spans x ON x.project_id = m.project_id AND x.series_id = m.series_id
JOIN branch_commits b ON b.project_id = m.project_id AND b.commit_id = m.commit_id
    AND b.branch = x.branch AND b.position BETWEEN x.low AND x.high
UNION
SELECT m.project_id, m.series_id, m.run_id, m.stored_at FROM measurements m
JOIN places x ON x.project_id = m.project_id AND x.series_id = m.series_id AND x.commit_id = m.commit_id
UNION
SELECT m.project_id, m.series_id, m.run_id, m.stored_at FROM measurements m
JOIN commits c ON c.project_id = m.project_id AND c.id = m.commit_id
JOIN named n ON n.project_id = c.project_id AND c.sha = n.sha
UNION
SELECT m.project_id, m.series_id, m.run_id, m.stored_at FROM measurements m
JOIN named_runs n ON n.project_id = m.project_id AND n.run_id = m.run_id;

-- As in migration 0005, and: the month's indexes are built, and its rows known to be the month's, before
-- any reader has to wait; the counts of series follow; a month is done once.
CREATE OR REPLACE FUNCTION retention_apply(month date, keep_days boolean, OUT rows_before bigint,
                                OUT rows_after bigint)
LANGUAGE plpgsql SET timezone = 'UTC' SET search_path = public AS $$
DECLARE
    old   text := 'measurements_' || to_char(month, 'YYYYMM');
    fresh text := old || '_new';
BEGIN
    PERFORM pg_advisory_xact_lock(74202027);
    IF to_regclass(old) IS NULL OR EXISTS ( -- another server was faster
        SELECT 1 FROM retention r WHERE r.month = retention_apply.month AND (r.kept = 'referred' OR keep_days)) THEN
        RETURN;
    END IF;
    EXECUTE format('LOCK TABLE ONLY %I IN SHARE ROW EXCLUSIVE MODE', old);
    EXECUTE format('SELECT count(*) FROM ONLY %I', old) INTO rows_before;
    EXECUTE format('CREATE TABLE %I (LIKE measurements INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES,'
                   ' CONSTRAINT in_month CHECK (stored_at >= %L AND stored_at < %L))', fresh,
                   month::timestamptz, (month + interval '1 month')::timestamptz);
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
    -- The point counts of series must leave out the deleted points: a series that seems to have more points than
    -- there are would be packed again and again, and judged from the wrong place on.
    EXECUTE format($sql$
        CREATE TEMP TABLE retention_gone ON COMMIT DROP AS
        SELECT m.project_id, m.series_id, count(*) AS points, max(b.position) AS newest
        FROM ONLY %I m
        JOIN series s ON s.project_id = m.project_id AND s.id = m.series_id
        JOIN branch_commits b ON b.project_id = m.project_id AND b.commit_id = m.commit_id
            AND b.branch = s.branch AND b.position IS NOT NULL
        JOIN runs r ON r.project_id = m.project_id AND r.id = m.run_id AND NOT r.infra
        WHERE NOT EXISTS (SELECT 1 FROM %I f WHERE f.project_id = m.project_id
                          AND f.series_id = m.series_id AND f.run_id = m.run_id)
          AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.project_id = r.project_id AND j.id = r.job_id
                          AND j.kind IN ('bisect', 'verify'))
        GROUP BY m.project_id, m.series_id$sql$, old, fresh);
    ANALYZE retention_gone;
    -- Before the exchange: judging locks its series first, so that no two transactions wait for each other (deadlock).
    UPDATE series s
    SET points = greatest(0, s.points - g.points),
        settled_points = CASE WHEN below THEN s.settled_points - g.points ELSE 0 END,
        settled_position = CASE WHEN below THEN s.settled_position ELSE 0 END,
        anchor_points = CASE WHEN below THEN s.anchor_points - g.points ELSE 0 END,
        anchor_position = CASE WHEN below THEN s.anchor_position ELSE 0 END
    FROM (SELECT q.*, q.newest < t.anchor_position AND q.points <= t.anchor_points AS below
          FROM retention_gone q
          JOIN series t ON t.project_id = q.project_id AND t.id = q.series_id) g
    WHERE s.project_id = g.project_id AND s.id = g.series_id;
    -- Readers wait only here, while the partitions are exchanged.
    EXECUTE format('ALTER TABLE measurements DETACH PARTITION %I', old);
    EXECUTE format('DROP TABLE %I', old);
    EXECUTE format('ALTER TABLE %I RENAME TO %I', fresh, old);
    EXECUTE format('ALTER TABLE measurements ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', old,
                   month::timestamptz, (month + interval '1 month')::timestamptz);
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT in_month', old);
    INSERT INTO retention (month, kept, rows_before, rows_after)
    VALUES (retention_apply.month, CASE WHEN keep_days THEN 'days' ELSE 'referred' END,
            retention_apply.rows_before, retention_apply.rows_after)
    ON CONFLICT ON CONSTRAINT retention_pkey DO UPDATE SET kept = excluded.kept, rows_before = excluded.rows_before,
                                      rows_after = excluded.rows_after, at = now();
    INSERT INTO audit (actor, action, object, detail)
    VALUES ('perfci-server', 'retain', old, rows_before || ' rows, ' || rows_after || ' stay');
END $$;
