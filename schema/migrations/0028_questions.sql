-- A runner numbers its questions for a job. One that arrives after a later one, or once more when it was
-- answered, is late: it must neither give back what the runner has in hand nor take a job for nobody.
CREATE TABLE lease_questions (
    lease_hash text PRIMARY KEY,          -- of the secret under which it is asked
    heard_from bigint NOT NULL,           -- the lowest number that is no late one
    asked_at   timestamptz NOT NULL DEFAULT now()
);
