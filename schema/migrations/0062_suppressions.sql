-- Suppression rules: an open alert that an active rule matches is hidden, and its notices are withheld until the rule
-- ends.

-- benchmark, backend, machine_class, metric: globs of '*' and '?'; params: values of the benchmark's parameters,
-- likewise. max_change: relative changes below it. NULL, {}: any. ended_at: by a person, or the end of its time.
CREATE TABLE suppressions (
    project_id    bigint NOT NULL REFERENCES projects (id),
    id            bigint GENERATED ALWAYS AS IDENTITY,
    owner         text NOT NULL CHECK (owner <> ''),
    reason        text NOT NULL CHECK (reason <> ''),
    benchmark     text,
    params        jsonb NOT NULL DEFAULT '{}',
    backend       text,
    machine_class text,
    metric        text,
    direction     text CHECK (direction IN ('up', 'down')),
    max_change    float8 CHECK (max_change > 0),
    created_by    text NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz NOT NULL,
    ended_at      timestamptz,
    ended_by      text,
    PRIMARY KEY (project_id, id),
    CONSTRAINT suppressions_period CHECK (expires_at <= created_at + interval '90 days'),
    CONSTRAINT suppressions_matcher CHECK (
        coalesce(benchmark, backend, machine_class, metric, direction) IS NOT NULL OR max_change IS NOT NULL OR params <> '{}')
);
CREATE INDEX suppressions_active ON suppressions (project_id, id) WHERE ended_at IS NULL;

-- The alerts that each rule has hidden. released_at: it no longer hides the alert.
CREATE TABLE suppressed_alerts (
    project_id     bigint NOT NULL,
    suppression_id bigint NOT NULL,
    alert_id       bigint NOT NULL,
    hidden_at      timestamptz NOT NULL DEFAULT now(),
    released_at    timestamptz,
    PRIMARY KEY (project_id, suppression_id, alert_id),
    FOREIGN KEY (project_id, suppression_id) REFERENCES suppressions (project_id, id)
);

-- The rule that hides the alert now.
ALTER TABLE alerts ADD COLUMN suppressed_by bigint;
CREATE INDEX alerts_suppressed ON alerts (project_id, suppressed_by) WHERE suppressed_by IS NOT NULL;
CREATE INDEX alerts_to_suppress ON alerts (project_id)
    WHERE suppressed_by IS NOT NULL OR state IN ('untriaged', 'acknowledged', 'investigating', 'infrastructure');

-- withheld_by: the rule that withheld the notice; kept after the release.
ALTER TABLE notices
    ADD COLUMN withheld_by bigint,
    ADD COLUMN released_at timestamptz,
    ADD COLUMN withheld boolean NOT NULL GENERATED ALWAYS AS (withheld_by IS NOT NULL AND released_at IS NULL) STORED;
CREATE INDEX notices_withheld ON notices (project_id, withheld_by) WHERE withheld_by IS NOT NULL;

-- LIKE compares in time that grows with the product of the lengths, which the service bounds.
CREATE FUNCTION glob_matches(glob text, value text) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT glob IS NULL OR coalesce(value LIKE replace(replace(replace(replace(replace(
        glob, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'), '?', '_'), false)
$$;

-- Whether a rule with this matcher hides an alert about this change of this series. A broken benchmark has no size.
CREATE FUNCTION suppression_matches(
    of_benchmark text, of_params jsonb, of_backend text, of_class text, of_metric text, of_direction text, of_change float8,
    benchmark text, params jsonb, backend text, machine_class text, metric text, kind text, rel_change float8) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT glob_matches(of_benchmark, benchmark) AND glob_matches(of_backend, backend)
       AND glob_matches(of_class, machine_class) AND glob_matches(of_metric, metric)
       AND NOT EXISTS (SELECT 1 FROM jsonb_each_text(of_params) q WHERE NOT glob_matches(q.value, coalesce(params, '{}') ->> q.key))
       AND (of_direction IS NULL OR (kind <> 'broken' AND CASE of_direction WHEN 'up' THEN rel_change > 0 ELSE rel_change < 0 END))
       AND (of_change IS NULL OR (kind <> 'broken' AND abs(rel_change) < of_change))
$$;

-- The oldest active rule that hides the alert of this change point; NULL: none.
CREATE FUNCTION alert_suppression(project bigint, change_point bigint) RETURNS bigint
LANGUAGE sql STABLE AS $$
    SELECT r.id
    FROM suppressions r
    JOIN change_points x ON x.project_id = r.project_id AND x.id = change_point
    JOIN series s ON s.project_id = x.project_id AND s.id = x.series_id
    JOIN benchmarks b ON b.project_id = s.project_id AND b.id = s.benchmark_id
    WHERE r.project_id = project AND r.ended_at IS NULL AND r.expires_at > now()
      AND suppression_matches(r.benchmark, r.params, r.backend, r.machine_class, r.metric, r.direction, r.max_change,
                              b.name, b.params, s.backend, s.machine_class, s.metric, x.kind, x.rel_change)
    ORDER BY r.id LIMIT 1
$$;

-- A notice of a hidden alert is withheld from the beginning, whichever statement stores it.
CREATE FUNCTION notice_withhold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.withheld_by := (SELECT a.suppressed_by FROM alerts a WHERE a.project_id = NEW.project_id AND a.id = NEW.alert_id);
    RETURN NEW;
END $$;
CREATE TRIGGER notices_withhold BEFORE INSERT ON notices
    FOR EACH ROW WHEN (NEW.alert_id IS NOT NULL) EXECUTE FUNCTION notice_withhold();

-- A role of the server changes these tables: into the first of the two lists of rights. It deletes no row of them.
DO $$
DECLARE
    old    text := pg_get_functiondef('server_rights(text)'::regprocedure);
    tables text := 'faults,schedules,nights,forge_links,webhook_deliveries';
BEGIN
    IF (length(old) - length(replace(old, tables, ''))) / length(tables) <> 2 THEN
        RAISE EXCEPTION 'server_rights is not the one of migration 0056';
    END IF;
    EXECUTE overlay(old placing 'suppressions,suppressed_alerts,' from strpos(old, tables) for 0);
END $$;
