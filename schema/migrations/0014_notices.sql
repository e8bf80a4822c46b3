-- Notices to deliver, written in the transaction that made each one true. A delivery worker (a forge's
-- bot, a mailer) reads the open notices and closes each one after it is sent, so that a crash in between
-- repeats a notice and loses none.
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
