-- Numbers of rows, kept up to date at each insert, because counting a table that grows for years is slow.
-- One row for each PostgreSQL backend that stored some, so that no backend waits for another's row lock: the
-- count of a `what` is the sum of `n` over the backends. process 0: the sum of rows that statement
-- tallies_fold has merged. of: the machine, for runs; else 0. measurements: as the parts of runs state them.
CREATE TABLE tallies (
    project_id bigint NOT NULL,
    what       text NOT NULL,
    of         bigint NOT NULL,
    process    int NOT NULL,
    n          bigint NOT NULL,
    PRIMARY KEY (project_id, what, of, process)
) WITH (fillfactor = 50);

-- In the order of the foreign keys, in which transactions that store a run take their locks. From here to the end nothing is stored
-- that would be counted twice or not at all.
LOCK TABLE commits, series, runs, run_parts IN SHARE ROW EXCLUSIVE MODE;

-- By triggers, so that what a server of the version before stores is counted, too, and what an operator
-- takes out.
DO $$
DECLARE
    t record;
BEGIN
    FOR t IN SELECT * FROM (VALUES ('commits', 'commits', '0', 'count(*)'),
                                   ('series', 'series', '0', 'count(*)'),
                                   ('runs', 'runs', 'machine_id', 'count(*)'),
                                   ('run_parts', 'measurements', '0', 'sum(measurements)'))
                      AS v (tab, what, of, n) LOOP
        EXECUTE format($f$
CREATE FUNCTION %1$s_tally() RETURNS trigger LANGUAGE plpgsql AS $g$
BEGIN
    INSERT INTO public.tallies AS t (project_id, what, of, process, n)
    SELECT project_id, %2$L, %3$s, pg_backend_pid(), CASE TG_OP WHEN 'DELETE' THEN -%4$s ELSE %4$s END
    FROM changed GROUP BY project_id, %3$s::bigint ORDER BY project_id, %3$s::bigint
    ON CONFLICT (project_id, what, of, process) DO UPDATE SET n = t.n + excluded.n;
    RETURN NULL;
END $g$;
CREATE TRIGGER %1$s_more AFTER INSERT ON %1$s REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION %1$s_tally();
CREATE TRIGGER %1$s_less AFTER DELETE ON %1$s REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION %1$s_tally();
INSERT INTO tallies (project_id, what, of, process, n)
SELECT project_id, %2$L, %3$s, 0, %4$s FROM %1$s GROUP BY project_id, %3$s::bigint$f$,
                       t.tab, t.what, t.of, t.n);
    END LOOP;
END $$;

-- Of the alerts of years: those that are open, those of one group, those that named their commit, and those that a
-- machine may explain.
CREATE INDEX alerts_open ON alerts (project_id)
    WHERE state IN ('untriaged', 'acknowledged', 'investigating');
CREATE INDEX alerts_of_group ON alerts (project_id, group_id) WHERE group_id IS NOT NULL;
CREATE INDEX alerts_of_culprits ON alerts (project_id) WHERE culprit IS NOT NULL;
CREATE INDEX alerts_wide ON alerts (project_id)
    WHERE group_series >= 4 AND state IN ('untriaged', 'infrastructure');

-- A machine's runs were counted by it; a server of the version before reads the table for that.
DROP INDEX runs_by_machine;
