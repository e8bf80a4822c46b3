-- Sessions: builds measured together on one machine in blocks. Each run of a session names it, and each of its
-- measurements says where in the session its processes were launched.

-- The plan of a session and its outcome; it is posted after its runs. number: for pages, newest first.
CREATE TABLE sessions (
    project_id    bigint NOT NULL REFERENCES projects (id),
    id            text NOT NULL CHECK (id ~ '^[0-9a-f]{32}$'),
    number        bigint GENERATED ALWAYS AS IDENTITY,
    branch        text NOT NULL,
    anchor_id     bigint NOT NULL,
    base_id       bigint NOT NULL,
    machine_class text NOT NULL,
    machine       text NOT NULL,
    started_at    timestamptz NOT NULL,
    finished_at   timestamptz NOT NULL,
    budget_s      float8 NOT NULL, -- 0: no limit
    spent_s       float8 NOT NULL,
    blocks        bigint NOT NULL,
    note          text,
    body_hash     text NOT NULL,
    received_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, anchor_id) REFERENCES commits (project_id, id),
    FOREIGN KEY (project_id, base_id) REFERENCES commits (project_id, id)
);
CREATE INDEX sessions_by_number ON sessions (project_id, number);

-- The new commits of a session in the order of history; the anchor and the base are not among them.
CREATE TABLE session_commits (
    project_id bigint NOT NULL,
    session_id text NOT NULL,
    ordinal    int NOT NULL, -- from 0
    commit_id  bigint NOT NULL,
    status     text NOT NULL CHECK (status IN ('measured', 'identical', 'broken', 'not_measured')),
    reason     text,
    same_as_id bigint, -- of an identical one: the commit that was measured for it
    needs_s    float8, -- of measuring, until its boundary is likely to be decided; NULL: not known
    PRIMARY KEY (project_id, session_id, ordinal),
    UNIQUE (project_id, session_id, commit_id),
    CHECK ((status = 'identical') = (same_as_id IS NOT NULL)),
    FOREIGN KEY (project_id, session_id) REFERENCES sessions (project_id, id),
    FOREIGN KEY (project_id, commit_id) REFERENCES commits (project_id, id),
    FOREIGN KEY (project_id, same_as_id) REFERENCES commits (project_id, id)
);

-- All three or none. Texts, because the runs come before the session.
ALTER TABLE runs ADD COLUMN session_id text, ADD COLUMN session_anchor text, ADD COLUMN session_base text,
    ADD CONSTRAINT runs_session_check CHECK (num_nonnulls(session_id, session_anchor, session_base) IN (0, 3));
CREATE INDEX runs_of_session ON runs (project_id, session_id) WHERE session_id IS NOT NULL;

-- Of each process launch (an element of blocks): block and position in the session. NULL: measured outside of one.
ALTER TABLE measurements ADD COLUMN visit_blocks int[], ADD COLUMN visit_positions int[];

-- The measurement that stands for a day keeps its visits.
DO $$
DECLARE
    old    text := pg_get_functiondef('retention_apply(date, boolean)'::regprocedure);
    before text := 'day_min, samples, blocks, extra';
BEGIN
    IF strpos(old, before) = 0 THEN
        RAISE EXCEPTION 'retention_apply is not the one of migration 0024';
    END IF;
    EXECUTE replace(old, before, before || ', visit_blocks, visit_positions');
END $$;
