-- Levels in units of an anchor: of each run of a session and each of its series, by the session's fit. Nights are
-- joined by them: the absolute values of two nights differ by what the machine did, these do not.
-- A row whose commit is the anchor of another session is a joint between the two anchors.
CREATE TABLE anchored (
    project_id bigint NOT NULL,
    series_id  bigint NOT NULL,
    run_id     bigint NOT NULL,
    commit_id  bigint NOT NULL, -- of the run
    anchor_id  bigint NOT NULL, -- of its session
    log_ratio  float8 NOT NULL, -- log(level of the commit / level of the anchor)
    log_se     float8 NOT NULL, -- 0: the anchor itself
    PRIMARY KEY (project_id, series_id, run_id),
    FOREIGN KEY (project_id, series_id) REFERENCES series (project_id, id),
    FOREIGN KEY (project_id, run_id) REFERENCES runs (project_id, id)
);
CREATE INDEX anchored_by_commit ON anchored (project_id, series_id, commit_id);

-- A session that is judged again may have other ratios.
DO $$
DECLARE
    old    text := pg_get_functiondef('server_rights(text)'::regprocedure);
    before text := 'machine_shifts,tallies';
BEGIN
    IF strpos(old, before) = 0 THEN
        RAISE EXCEPTION 'server_rights is not the one of migration 0028';
    END IF;
    EXECUTE replace(old, before, before || ',anchored');
END $$;
