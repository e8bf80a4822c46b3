-- What somebody ought to be told, written in the transaction that made it true: whoever sends it (a forge's
-- bot, a mailer) reads what is open and closes it once it is sent, so that a crash in between repeats it
-- and loses nothing.
CREATE TABLE notices (
    project_id bigint NOT NULL REFERENCES projects (id),
    id         bigint GENERATED ALWAYS AS IDENTITY,
    kind       text NOT NULL CHECK (kind IN ('culprit_confirmed')),
    alert_id   bigint NOT NULL,
    sha        text NOT NULL CHECK (sha ~ '^[0-9a-f]{40}$'),
    text       text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    done_at    timestamptz,
    done_by    text,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, alert_id, kind, sha)
);
CREATE INDEX notices_open ON notices (id) WHERE done_at IS NULL;
