-- Operating runners: what each reports of itself, draining, revoking, and hiding its results.
-- version to status_at: as the runner's newest report has them; NULL: it never sent one. spool_*: documents that wait
-- for upload and their limits. drained_at, revoked_at: the runner gets no job. token_ids: tokens it leased with.
ALTER TABLE runners
    ADD COLUMN version text,
    ADD COLUMN sandbox text,
    ADD COLUMN spool_documents bigint,
    ADD COLUMN spool_max_documents bigint,
    ADD COLUMN spool_bytes bigint,
    ADD COLUMN spool_max_bytes bigint,
    ADD COLUMN spool_oldest_s float8,
    ADD COLUMN disk_free_bytes bigint,
    ADD COLUMN status_at timestamptz,
    ADD COLUMN drained_at timestamptz,
    ADD COLUMN drained_by text,
    ADD COLUMN revoked_at timestamptz,
    ADD COLUMN revoked_by text,
    ADD COLUMN token_ids bigint[] NOT NULL DEFAULT '{}',
    ADD COLUMN results bigint NOT NULL DEFAULT 0; -- runs of the jobs that it ended
UPDATE runners r SET results = j.n
FROM (SELECT runner, sum(cardinality(run_ids)) AS n FROM jobs WHERE state = 'done' GROUP BY runner) j
WHERE j.runner = r.name;

-- Why a runner needs attention before it has to stop; NULL: it does not. The oldest result waits on while the runner
-- is silent. Half of a limit, one hour and 1 GiB leave time to act: leasing stops when the disk or the spool is full.
CREATE FUNCTION runner_alarm(r runners) RETURNS text LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT CASE
        WHEN r.spool_documents * 2 >= r.spool_max_documents
            THEN format('spool: %s of at most %s documents wait', r.spool_documents, r.spool_max_documents)
        WHEN r.spool_bytes * 2 >= r.spool_max_bytes
            THEN format('spool: %s of at most %s MiB wait', r.spool_bytes >> 20, r.spool_max_bytes >> 20)
        WHEN r.disk_free_bytes < 1073741824
            THEN format('disk: %s MiB are free, expected at least 1024', r.disk_free_bytes >> 20)
        WHEN r.spool_documents > 0 AND r.spool_oldest_s + extract(epoch FROM now() - r.status_at) >= 3600
            THEN format('spool: the oldest result has waited for %s min, expected less than 60',
                        floor((r.spool_oldest_s + extract(epoch FROM now() - r.status_at)) / 60))
    END
$$;

-- Which runner had each lease of a job: by fencing token, since runs name that.
ALTER TABLE jobs ADD COLUMN lease_runners text[] NOT NULL DEFAULT '{}';

-- The results of a runner since a time, hidden until released_at. project_id NULL: of all projects.
CREATE TABLE quarantines (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project_id  bigint,
    runner      text NOT NULL,
    since       timestamptz NOT NULL,
    runs        bigint NOT NULL DEFAULT 0, -- hidden
    seen_run    bigint NOT NULL DEFAULT 0, -- runs up to this one need no further look
    next_run    bigint NOT NULL DEFAULT 0, -- the newest one at seen_at: seen_run when 10 minutes have passed
    seen_at     timestamptz NOT NULL DEFAULT now(),
    actor       text NOT NULL,
    reason      text NOT NULL DEFAULT '',
    at          timestamptz NOT NULL DEFAULT now(),
    released_at timestamptz,
    released_by text
);
CREATE UNIQUE INDEX quarantines_open ON quarantines (runner, coalesce(project_id, 0)) WHERE released_at IS NULL;

-- A hidden run keeps its row, so that its document is not stored again. Its results are moved, so that no statement
-- has to leave them out.
ALTER TABLE runs ADD COLUMN quarantine_id bigint;
-- Results were hidden or came back since the series was judged: a change that goes with them is no flap, and
-- does not count as one that went away (change_points.went_away).
ALTER TABLE series ADD COLUMN regathered boolean NOT NULL DEFAULT false;
CREATE TABLE quarantined_measurements (LIKE measurements INCLUDING DEFAULTS, PRIMARY KEY (project_id, run_id, series_id));
CREATE TABLE quarantined_unmeasured (LIKE unmeasured INCLUDING DEFAULTS,
    PRIMARY KEY (project_id, run_id, benchmark, metric, backend));
-- Change points of the series of hidden runs, and the state of their alerts, as they were before.
CREATE TABLE quarantined_changes (
    quarantine_id   bigint NOT NULL,
    project_id      bigint NOT NULL,
    change_point_id bigint NOT NULL,
    gone            boolean NOT NULL,
    evidence        jsonb,
    withheld        text,
    withheld_detail jsonb,
    alert_state     text,
    PRIMARY KEY (project_id, quarantine_id, change_point_id)
);

-- The runs behind after_run that a quarantine concerns. By the time when they came: started_at is the runner's own, and
-- what it sent since is in doubt whenever it was measured. A run that no lease brought is the runner's by the name of
-- its machine.
CREATE FUNCTION quarantine_runs(project bigint, runner text, since timestamptz, after_run bigint)
    RETURNS TABLE (project_id bigint, run_id bigint)
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT r.project_id, r.id
    FROM projects p -- runs are found by their project and an id
    JOIN runs r ON r.project_id = p.id AND r.id > $4
    JOIN machines k ON k.id = r.machine_id
    LEFT JOIN jobs j ON j.project_id = r.project_id AND j.id = r.job_id
    WHERE ($1 IS NULL OR p.id = $1) AND r.quarantine_id IS NULL AND r.received_at >= $3
      AND $2 = CASE WHEN j.id IS NULL THEN k.name ELSE coalesce(j.lease_runners[r.job_fence], j.runner, k.name) END
$$;

-- Hides what the quarantine concerns and is not hidden yet. Branches to judge again.
CREATE FUNCTION quarantine_hide(quarantine bigint) RETURNS TABLE (project_id bigint, branch text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    q        quarantines;
    p        record;
    touched  bigint[];
    hidden   bigint := 0;
BEGIN
    SELECT * INTO q FROM quarantines WHERE id = quarantine AND released_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(74202027); -- months are neither made nor thinned meanwhile
    FOR p IN SELECT t.project_id AS id, array_agg(t.run_id ORDER BY t.run_id) AS runs
             FROM quarantine_runs(q.project_id, q.runner, q.since, q.seen_run) t GROUP BY t.project_id ORDER BY t.project_id LOOP
        touched := ARRAY(SELECT DISTINCT m.series_id FROM runs r
                         JOIN measurements m ON m.project_id = r.project_id AND m.commit_id = r.commit_id AND m.run_id = r.id
                         WHERE r.project_id = p.id AND r.id = ANY (p.runs));
        PERFORM 1 FROM series s WHERE s.project_id = p.id AND s.id = ANY (touched) ORDER BY s.id FOR NO KEY UPDATE;
        INSERT INTO quarantined_changes (quarantine_id, project_id, change_point_id, gone, evidence, withheld,
                                         withheld_detail, alert_state)
        SELECT q.id, x.project_id, x.id, x.gone_at IS NOT NULL, x.evidence, x.withheld, x.withheld_detail, a.state
        FROM change_points x
        LEFT JOIN alerts a ON a.project_id = x.project_id AND a.change_point_id = x.id
        WHERE x.project_id = p.id AND x.series_id = ANY (touched)
        ON CONFLICT DO NOTHING;
        WITH moved AS (
            DELETE FROM measurements m USING runs r
            WHERE r.project_id = p.id AND r.id = ANY (p.runs) AND m.project_id = r.project_id
              AND m.commit_id = r.commit_id AND m.run_id = r.id
            RETURNING m.*)
        INSERT INTO quarantined_measurements SELECT * FROM moved;
        WITH moved AS (
            DELETE FROM unmeasured u WHERE u.project_id = p.id AND u.run_id = ANY (p.runs) RETURNING u.*)
        INSERT INTO quarantined_unmeasured SELECT * FROM moved;
        DELETE FROM anchored a WHERE a.project_id = p.id AND a.run_id = ANY (p.runs);
        DELETE FROM series_chunks c WHERE c.project_id = p.id AND c.series_id = ANY (touched);
        -- The decisions of a hidden session end.
        UPDATE change_points x SET evidence = NULL
        WHERE x.project_id = p.id AND x.series_id = ANY (touched) AND x.evidence ->> 'session' IN (
            SELECT r.session_id FROM runs r WHERE r.project_id = p.id AND r.id = ANY (p.runs));
        UPDATE series s SET regathered = true, in_blocks = s.in_blocks AND EXISTS (
            SELECT 1 FROM measurements m WHERE m.project_id = s.project_id AND m.series_id = s.id
            AND m.visit_blocks IS NOT NULL)
        WHERE s.project_id = p.id AND s.id = ANY (touched);
        UPDATE runs r SET quarantine_id = q.id WHERE r.project_id = p.id AND r.id = ANY (p.runs);
        hidden := hidden + cardinality(p.runs);
        RETURN QUERY SELECT DISTINCT r.project_id, r.branch FROM runs r
                     WHERE r.project_id = p.id AND r.id = ANY (p.runs);
    END LOOP;
    UPDATE quarantines SET runs = runs + hidden WHERE id = q.id;
END $$;

-- Takes the quarantine back. Branches to judge again (run_id NULL), and a run of each session to apply again.
CREATE FUNCTION quarantine_release(quarantine bigint, released_by text)
    RETURNS TABLE (project_id bigint, branch text, run_id bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    p        record;
    touched  bigint[];
BEGIN
    PERFORM 1 FROM quarantines WHERE id = quarantine AND released_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(74202027);
    FOR p IN SELECT r.project_id AS id, array_agg(r.id ORDER BY r.id) AS runs FROM runs r
             WHERE r.quarantine_id = quarantine GROUP BY r.project_id ORDER BY r.project_id LOOP
        touched := ARRAY(SELECT DISTINCT m.series_id FROM quarantined_measurements m
                         WHERE m.project_id = p.id AND m.run_id = ANY (p.runs));
        PERFORM 1 FROM series s WHERE s.project_id = p.id AND s.id = ANY (touched) ORDER BY s.id FOR NO KEY UPDATE;
        WITH moved AS (
            DELETE FROM quarantined_measurements m WHERE m.project_id = p.id AND m.run_id = ANY (p.runs) RETURNING m.*)
        INSERT INTO measurements SELECT * FROM moved;
        WITH moved AS (
            DELETE FROM quarantined_unmeasured u WHERE u.project_id = p.id AND u.run_id = ANY (p.runs) RETURNING u.*)
        INSERT INTO unmeasured SELECT * FROM moved;
        DELETE FROM series_chunks c WHERE c.project_id = p.id AND c.series_id = ANY (touched);
        UPDATE series s SET regathered = true, in_blocks = s.in_blocks OR EXISTS (
            SELECT 1 FROM measurements m
            JOIN runs r ON r.project_id = m.project_id AND r.id = m.run_id
            JOIN sessions x ON x.project_id = r.project_id AND x.id = r.session_id
            WHERE m.project_id = s.project_id AND m.series_id = s.id AND m.visit_blocks IS NOT NULL)
        WHERE s.project_id = p.id AND s.id = ANY (touched);
        UPDATE runs r SET quarantine_id = NULL WHERE r.project_id = p.id AND r.id = ANY (p.runs);
        RETURN QUERY SELECT r.project_id, r.branch, NULL::bigint FROM runs r
                     WHERE r.project_id = p.id AND r.id = ANY (p.runs) GROUP BY r.project_id, r.branch
                     UNION ALL
                     SELECT r.project_id, min(r.branch), min(r.id) FROM runs r
                     WHERE r.project_id = p.id AND r.id = ANY (p.runs) AND r.session_id IS NOT NULL
                     GROUP BY r.project_id, r.session_id;
    END LOOP;
    -- Changes that went away with the hidden results, and alerts that the detector closed for that. Detection decides
    -- afterwards whether they still stand.
    WITH back AS (
        UPDATE alerts a SET state = s.alert_state, updated_at = now()
        FROM quarantined_changes s
        WHERE s.quarantine_id = quarantine AND NOT s.gone AND a.project_id = s.project_id
          AND a.change_point_id = s.change_point_id AND a.state = 'noise' AND s.alert_state <> 'noise'
          AND (SELECT e.actor FROM alert_events e WHERE e.project_id = a.project_id AND e.alert_id = a.id
               ORDER BY e.id DESC LIMIT 1) = 'detector'
        RETURNING a.project_id, a.id, s.alert_state)
    INSERT INTO alert_events (project_id, alert_id, actor, state_from, state_to, reason)
    SELECT b.project_id, b.id, 'detector', 'noise', b.alert_state, 'the results that were hidden count again' FROM back b;
    UPDATE change_points x
    SET gone_at = CASE WHEN s.gone THEN x.gone_at END,
        evidence = coalesce(x.evidence, s.evidence), withheld = CASE WHEN s.gone THEN x.withheld ELSE s.withheld END,
        withheld_detail = CASE WHEN s.gone THEN x.withheld_detail ELSE s.withheld_detail END
    FROM quarantined_changes s
    WHERE s.quarantine_id = quarantine AND x.project_id = s.project_id AND x.id = s.change_point_id;
    DELETE FROM quarantined_changes WHERE quarantine_id = quarantine;
    UPDATE quarantines q SET released_at = now(), released_by = $2 WHERE q.id = quarantine;
END $$;
REVOKE EXECUTE ON FUNCTION quarantine_hide(bigint), quarantine_release(bigint, text) FROM PUBLIC;

-- A role of the server calls them, and changes the rows of quarantines.
DO $$
DECLARE
    old    text := pg_get_functiondef('server_rights(text)'::regprocedure);
    calls  text := 'project_clear(bigint, int) TO';
    tables text := 'machine_shifts,tallies,anchored';
BEGIN
    IF strpos(old, calls) = 0 OR strpos(old, tables) = 0 THEN
        RAISE EXCEPTION 'server_rights is not the one of migration 0043';
    END IF;
    EXECUTE replace(replace(old, calls, 'project_clear(bigint, int), quarantine_hide(bigint),'
                                        ' quarantine_release(bigint, text) TO'), tables, tables || ',quarantines');
END $$;
