-- A session's verdict of each commit when it was last judged, for lists: a request for one session judges it
-- again. NULL: not judged yet. worst: {"series_id", "benchmark", "metric", "backend", "rel_change", ...} or NULL.
ALTER TABLE session_commits
    ADD COLUMN verdict text CHECK (verdict IN ('slower', 'faster', 'same', 'undecided', 'identical', 'broken',
                                               'not_measured')),
    ADD COLUMN within float8,
    ADD COLUMN open_s float8, -- of an undecided one: seconds of measuring that are likely to decide it
    ADD COLUMN worst jsonb;

-- A role of the server changes these rows.
DO $$
DECLARE
    old    text := pg_get_functiondef('server_rights(text)'::regprocedure);
    before text := 'machine_shifts,tallies,anchored';
BEGIN
    IF strpos(old, before) = 0 THEN
        RAISE EXCEPTION 'server_rights is not the one of migration 0039';
    END IF;
    EXECUTE replace(old, before, before || ',session_commits');
END $$;
