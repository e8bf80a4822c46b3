-- The fresh comparison before a commit is blamed: the commit before a named one against it, in pairs
-- that one runner measures in one lease.

CREATE TABLE verifications (
    project_id   bigint NOT NULL,
    id           bigint GENERATED ALWAYS AS IDENTITY,
    bisection_id bigint NOT NULL,
    before       text NOT NULL CHECK (before ~ '^[0-9a-f]{40}$'),
    after        text NOT NULL CHECK (after ~ '^[0-9a-f]{40}$'),
    expected_rel float8 NOT NULL,
    first_build  int NOT NULL,
    avoid_runner text, -- the runner that measured most of the search
    state        text NOT NULL DEFAULT 'running'
        CHECK (state IN ('running', 'confirmed', 'refuted', 'open', 'cancelled')),
    pairs        int NOT NULL DEFAULT 0,
    layouts      int NOT NULL DEFAULT 0,
    rel_change   float8,
    rel_low      float8,
    rel_high     float8,
    p            float8,
    reason       text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    finished_at  timestamptz,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, bisection_id) REFERENCES bisections (project_id, id)
);
CREATE INDEX verifications_running ON verifications (id) WHERE state = 'running';
CREATE INDEX verifications_of ON verifications (project_id, bisection_id);

CREATE TABLE verification_pairs (
    project_id      bigint NOT NULL,
    verification_id bigint NOT NULL,
    n               int NOT NULL,
    build           int NOT NULL,
    after_first     boolean NOT NULL,
    state           text NOT NULL DEFAULT 'asked' CHECK (state IN ('asked', 'measured', 'failed')),
    job_id          bigint NOT NULL,
    before          float8,
    after           float8,
    PRIMARY KEY (project_id, verification_id, n),
    FOREIGN KEY (project_id, verification_id) REFERENCES verifications (project_id, id),
    CHECK ((state = 'measured') = (before IS NOT NULL AND after IS NOT NULL))
);
