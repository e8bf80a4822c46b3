-- A server keeps the newest points of a series in memory as long as the generation of its state stays (0072). Thinning
-- takes points out, so that no kept history is used after it. Locked in the order in which judging locks them.
DO $$
DECLARE
    old    text := pg_get_functiondef('retention_thin(date, boolean)'::regprocedure);
    before text := '    ANALYZE retention_kept;';
BEGIN
    IF strpos(old, before) = 0 THEN
        RAISE EXCEPTION 'retention_thin is not the one of migration 0073';
    END IF;
    EXECUTE replace(old, before, before || $sql$
    PERFORM FROM series_states WHERE generation <> 0 ORDER BY project_id, series_id FOR UPDATE;
    UPDATE series_states SET generation = 0 WHERE generation <> 0;$sql$);
END $$;
