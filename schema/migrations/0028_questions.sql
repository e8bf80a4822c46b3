-- A runner numbers its questions for a job. One that arrives after a later one, or once more when it was
-- answered, is late: it must neither give back what the runner has in hand nor lease a job to a runner that no longer waits for it.
CREATE TABLE lease_questions (
    lease_hash text PRIMARY KEY,          -- of the secret under which it is asked
    heard_from bigint NOT NULL,           -- the lowest number that is no late one
    asked_at   timestamptz NOT NULL DEFAULT now()
);

-- A role of the server changes and removes its rows.
DO $$
DECLARE
    old text := pg_get_functiondef('server_rights(text)'::regprocedure);
BEGIN
    IF strpos(old, 'machine_shifts,tallies}') = 0 OR strpos(old, '{jobs,series_chunks,tallies}') = 0 THEN
        RAISE EXCEPTION 'server_rights is not the one of migration 0027';
    END IF;
    EXECUTE replace(old, 'tallies}', 'tallies,lease_questions}');
END $$;
