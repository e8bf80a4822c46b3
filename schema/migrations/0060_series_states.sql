-- The detector's state of each series: what lets a new point be judged without reading the history. A series without a
-- row is judged with its history. Updated with each point, hence the room left in each page.
CREATE TABLE series_states (
    project_id bigint NOT NULL,
    series_id  bigint NOT NULL,
    position   bigint NOT NULL, -- on the branch, of the newest point that the state holds
    state      bytea NOT NULL CHECK (octet_length(state) <= 4096),
    PRIMARY KEY (project_id, series_id),
    FOREIGN KEY (project_id, series_id) REFERENCES series (project_id, id) ON DELETE CASCADE
) WITH (fillfactor = 70);

-- A state is replaced with each point, and goes with its series or when it no longer holds: into both lists of rights.
DO $$
DECLARE
    old    text := pg_get_functiondef('server_rights(text)'::regprocedure);
    tables text := 'faults,schedules,nights,forge_links,webhook_deliveries';
BEGIN
    IF (length(old) - length(replace(old, tables, ''))) / length(tables) <> 2 THEN
        RAISE EXCEPTION 'server_rights is not the one of migration 0056';
    END IF;
    EXECUTE replace(old, tables, 'series_states,' || tables);
END $$;
