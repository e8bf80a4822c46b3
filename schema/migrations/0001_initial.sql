-- The backbone: projects, history, runs with their raw samples, what was found in them, and the
-- queue. Every table that grows with a project has project_id first in its key, so that it can be
-- distributed by it. Ids come from sequences and are unique across projects all the same.

CREATE TABLE schema_migrations (
    version    int PRIMARY KEY,
    name       text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE projects (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
    branch     text NOT NULL DEFAULT 'main',
    repo_url   text,
    build      text,
    measure    text,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- History is a graph: parents as git lists them, first parent first. A stub is a commit that a run named
-- before a client posted the commit itself.
CREATE TABLE commits (
    project_id bigint NOT NULL REFERENCES projects (id),
    id         bigint GENERATED ALWAYS AS IDENTITY,
    sha        text NOT NULL CHECK (sha ~ '^[0-9a-f]{40}$'),
    parents    text[] NOT NULL DEFAULT '{}',
    author     text NOT NULL DEFAULT '',
    time       timestamptz NOT NULL,
    subject    text NOT NULL DEFAULT '',
    paths      text[] NOT NULL DEFAULT '{}',
    stub       boolean NOT NULL DEFAULT false,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, sha)
);
CREATE INDEX commits_by_prefix ON commits (project_id, sha text_pattern_ops);

CREATE TABLE branches (
    project_id bigint NOT NULL REFERENCES projects (id),
    name       text NOT NULL,
    PRIMARY KEY (project_id, name)
);

-- Which commits were posted for a branch, and where they lie on its first-parent line (from 1,
-- NULL: not on it). A commit may be on several branches.
CREATE TABLE branch_commits (
    project_id bigint NOT NULL,
    branch     text NOT NULL,
    commit_id  bigint NOT NULL,
    position   bigint,
    PRIMARY KEY (project_id, branch, commit_id),
    FOREIGN KEY (project_id, commit_id) REFERENCES commits (project_id, id),
    FOREIGN KEY (project_id, branch) REFERENCES branches (project_id, name)
);
CREATE INDEX branch_commits_line ON branch_commits (project_id, branch, position);

CREATE TABLE machines (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    class            text NOT NULL,
    name             text NOT NULL,
    fingerprint_hash text NOT NULL,
    fingerprint      jsonb NOT NULL,
    first_seen_at    timestamptz NOT NULL DEFAULT now(),
    last_seen_at     timestamptz NOT NULL DEFAULT now(),
    UNIQUE (class, name, fingerprint_hash)
);

CREATE TABLE benchmarks (
    project_id bigint NOT NULL REFERENCES projects (id),
    id         bigint GENERATED ALWAYS AS IDENTITY,
    name       text NOT NULL,
    params     jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, name)
);

-- points, last_*, spark and noise_rel are as of the last detection.
CREATE TABLE series (
    project_id       bigint NOT NULL REFERENCES projects (id),
    id               bigint GENERATED ALWAYS AS IDENTITY,
    benchmark_id     bigint NOT NULL,
    metric           text NOT NULL,
    backend          text NOT NULL,
    machine_class    text NOT NULL,
    branch           text NOT NULL,
    unit             text NOT NULL,
    higher_is_better boolean NOT NULL,
    exact            boolean NOT NULL,
    headline         boolean NOT NULL,
    points           bigint NOT NULL DEFAULT 0,
    last_commit_id   bigint,
    last_median      float8,
    spark            float8[] NOT NULL DEFAULT '{}',
    noise_rel        float8,
    judged_at        timestamptz,
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, benchmark_id, metric, backend, machine_class, branch),
    FOREIGN KEY (project_id, benchmark_id) REFERENCES benchmarks (project_id, id)
);
CREATE INDEX series_by_id ON series (id);
CREATE INDEX series_headline ON series (project_id, branch) WHERE headline;

-- Not partitioned, so that the measurer's id can be unique: it is the idempotency key.
CREATE TABLE runs (
    project_id   bigint NOT NULL REFERENCES projects (id),
    id           bigint GENERATED ALWAYS AS IDENTITY,
    run_id       text NOT NULL CHECK (run_id ~ '^[0-9a-f]{32}$'),
    header_hash  text NOT NULL,
    commit_id    bigint NOT NULL,
    branch       text NOT NULL,
    suite        text NOT NULL,
    suite_hash   text NOT NULL,
    machine_id   bigint NOT NULL REFERENCES machines (id),
    job_id       bigint,
    infra        boolean NOT NULL,
    started_at   timestamptz NOT NULL,
    finished_at  timestamptz NOT NULL,
    received_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, run_id),
    FOREIGN KEY (project_id, commit_id) REFERENCES commits (project_id, id)
);
CREATE INDEX runs_by_id ON runs (id);
CREATE INDEX runs_by_run_id ON runs (run_id);
CREATE INDEX runs_by_commit ON runs (project_id, commit_id, id);
CREATE INDEX runs_by_machine ON runs (machine_id);

-- One row a document: a run over the size limit comes in several. The stored counts are the answer
-- that a repeated post gets.
CREATE TABLE run_parts (
    project_id   bigint NOT NULL,
    run_id       bigint NOT NULL,
    body_hash    text NOT NULL,
    key          text,
    measurements bigint NOT NULL,
    series       bigint NOT NULL,
    samples      bigint NOT NULL,
    received_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, run_id, body_hash),
    FOREIGN KEY (project_id, run_id) REFERENCES runs (project_id, id)
);
CREATE UNIQUE INDEX run_parts_key ON run_parts (project_id, key) WHERE key IS NOT NULL;

-- Raw samples, block after block; the figures beside them are derived from them on storing.
CREATE TABLE measurements (
    project_id bigint NOT NULL,
    series_id  bigint NOT NULL,
    run_id     bigint NOT NULL,
    commit_id  bigint NOT NULL,
    stored_at  timestamptz NOT NULL,
    n          int NOT NULL,
    median     float8 NOT NULL,
    low        float8 NOT NULL,
    high       float8 NOT NULL,
    min        float8 NOT NULL,
    samples    float8[] NOT NULL,
    blocks     int[] NOT NULL,
    extra      jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (project_id, series_id, run_id, stored_at)
) PARTITION BY RANGE (stored_at);
CREATE INDEX measurements_by_run ON measurements (project_id, run_id);
CREATE INDEX measurements_by_commit ON measurements (project_id, commit_id);
-- Safety only: partitions are made ahead, and nothing should land here.
CREATE TABLE measurements_default PARTITION OF measurements DEFAULT;
DO $$
DECLARE
    m timestamptz;
BEGIN
    FOR m IN SELECT generate_series(date_trunc('month', now()),
                                    date_trunc('month', now()) + interval '2 months',
                                    interval '1 month') LOOP
        EXECUTE format('CREATE TABLE %I PARTITION OF measurements FOR VALUES FROM (%L) TO (%L)',
                       'measurements_' || to_char(m, 'YYYYMM'), m, m + interval '1 month');
    END LOOP;
END $$;

-- Benchmarks that a run could not measure; stored so that GET /runs/{id} returns the complete document.
CREATE TABLE unmeasured (
    project_id bigint NOT NULL,
    run_id     bigint NOT NULL,
    benchmark  text NOT NULL,
    metric     text NOT NULL,
    backend    text NOT NULL,
    unit       text NOT NULL,
    higher_is_better boolean NOT NULL,
    exact      boolean NOT NULL,
    broken     boolean NOT NULL,
    reason     text NOT NULL,
    params     jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (project_id, run_id, benchmark, metric, backend),
    FOREIGN KEY (project_id, run_id) REFERENCES runs (project_id, id)
);

-- A change keeps its row while later points move its edges a little; gone_at says that the
-- detector no longer sees it.
CREATE TABLE change_points (
    project_id     bigint NOT NULL,
    id             bigint GENERATED ALWAYS AS IDENTITY,
    series_id      bigint NOT NULL,
    commit_id      bigint NOT NULL,
    commit_low_id  bigint NOT NULL,
    commit_high_id bigint NOT NULL,
    before         float8 NOT NULL,
    after          float8 NOT NULL,
    rel_change     float8 NOT NULL,
    rel_low        float8 NOT NULL,
    rel_high       float8 NOT NULL,
    p              float8 NOT NULL,
    regression     boolean NOT NULL,
    confirmed      boolean NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),
    updated_at     timestamptz NOT NULL DEFAULT now(),
    gone_at        timestamptz,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, series_id) REFERENCES series (project_id, id)
);
CREATE INDEX change_points_of_series ON change_points (project_id, series_id) WHERE gone_at IS NULL;
CREATE INDEX change_points_of_commit ON change_points (project_id, commit_id) WHERE gone_at IS NULL;

CREATE TABLE alerts (
    project_id      bigint NOT NULL,
    id              bigint GENERATED ALWAYS AS IDENTITY,
    change_point_id bigint NOT NULL,
    series_id       bigint NOT NULL,
    state           text NOT NULL DEFAULT 'untriaged' CHECK (state IN ('untriaged', 'acknowledged',
        'investigating', 'fixed', 'backed_out', 'wont_fix', 'noise', 'infrastructure', 'duplicate',
        'verified_fixed')),
    culprit         text,
    note            text NOT NULL DEFAULT '',
    created_at      timestamptz NOT NULL DEFAULT now(),
    updated_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, id),
    UNIQUE (project_id, change_point_id),
    FOREIGN KEY (project_id, change_point_id) REFERENCES change_points (project_id, id)
);
CREATE INDEX alerts_by_id ON alerts (id);
CREATE INDEX alerts_of_series ON alerts (project_id, series_id);

CREATE TABLE alert_events (
    project_id bigint NOT NULL,
    id         bigint GENERATED ALWAYS AS IDENTITY,
    alert_id   bigint NOT NULL,
    at         timestamptz NOT NULL DEFAULT now(),
    actor      text NOT NULL,
    state_from text,
    state_to   text NOT NULL,
    reason     text NOT NULL DEFAULT '',
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, alert_id) REFERENCES alerts (project_id, id)
);
CREATE INDEX alert_events_of_alert ON alert_events (project_id, alert_id, id);

CREATE TABLE jobs (
    project_id  bigint NOT NULL REFERENCES projects (id),
    id          bigint GENERATED ALWAYS AS IDENTITY,
    kind        text NOT NULL CHECK (kind IN ('measure', 'nightly', 'pull_request', 'backfill',
        'bisect', 'verify', 'detect')),
    state       text NOT NULL DEFAULT 'queued'
        CHECK (state IN ('queued', 'leased', 'done', 'failed', 'cancelled')),
    priority    int NOT NULL DEFAULT 0 CHECK (priority BETWEEN 0 AND 100),
    sha         text,
    branch      text,
    suite       text,
    source      text,
    labels      jsonb NOT NULL DEFAULT '{}',
    run_id      bigint,
    dedupe      text,
    tries       int NOT NULL DEFAULT 0,
    runner      text,
    lease_hash  text,
    lease_until timestamptz,
    cancel_requested boolean NOT NULL DEFAULT false,
    progress    text,
    reason      text,
    run_ids     text[] NOT NULL DEFAULT '{}',
    created_at  timestamptz NOT NULL DEFAULT now(),
    started_at  timestamptz,
    finished_at timestamptz,
    PRIMARY KEY (project_id, id),
    CHECK ((state = 'leased') = (lease_until IS NOT NULL))
);
CREATE INDEX jobs_by_id ON jobs (id);
CREATE INDEX jobs_waiting ON jobs (priority DESC, id) WHERE state = 'queued' AND kind <> 'detect';
CREATE INDEX jobs_to_judge ON jobs (id) WHERE state = 'queued' AND kind = 'detect';
CREATE INDEX jobs_leased ON jobs (lease_until) WHERE state = 'leased';
CREATE UNIQUE INDEX jobs_open_once ON jobs (project_id, dedupe) WHERE state IN ('queued', 'leased');

CREATE TABLE runners (
    name          text PRIMARY KEY,
    machine_class text NOT NULL,
    labels        jsonb NOT NULL DEFAULT '{}',
    backends      text[] NOT NULL DEFAULT '{}',
    last_seen_at  timestamptz NOT NULL DEFAULT now()
);

-- Secrets have 256 random bits, so a plain hash is enough and nothing here can be used to log in.
CREATE TABLE tokens (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    hash         text NOT NULL UNIQUE CHECK (hash ~ '^[0-9a-f]{64}$'),
    name         text NOT NULL DEFAULT '',
    scopes       int NOT NULL CHECK (scopes BETWEEN 1 AND 31),
    project_id   bigint REFERENCES projects (id),
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz
);

CREATE TABLE bisections (
    project_id       bigint NOT NULL REFERENCES projects (id),
    id               bigint GENERATED ALWAYS AS IDENTITY,
    metric           text NOT NULL,
    benchmark        text,
    backend          text,
    good             text NOT NULL,
    bad              text NOT NULL,
    verdict          text NOT NULL
        CHECK (verdict IN ('found', 'range', 'no-regression', 'inconclusive')),
    culprits         jsonb NOT NULL,
    steps            jsonb NOT NULL DEFAULT '[]',
    runs             bigint NOT NULL,
    builds           bigint NOT NULL,
    commits_measured bigint NOT NULL,
    seconds          float8 NOT NULL,
    alert_id         bigint,
    actor            text NOT NULL,
    created_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, id)
);
CREATE INDEX bisections_by_id ON bisections (id);

CREATE TABLE audit (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL DEFAULT now(),
    actor      text NOT NULL,
    action     text NOT NULL,
    project_id bigint,
    object     text NOT NULL,
    detail     text NOT NULL DEFAULT ''
);
CREATE INDEX audit_of_project ON audit (project_id, id);
