-- Pull requests: which repository of a forge a project watches, what its webhooks said, and for each pull request
-- what was measured and what was posted.

-- Settings of a project. budget_s: measuring time of one push. patience_s: after this time without a verdict the check
-- becomes neutral, so that a required check never blocks longer on an outage. machine_class NULL: any runner.
CREATE TABLE forge_links (
    project_id    bigint PRIMARY KEY REFERENCES projects (id),
    forge         text NOT NULL CHECK (forge IN ('github', 'gitlab', 'gitea')),
    repo          text NOT NULL, -- "owner/name"
    policy        text NOT NULL DEFAULT 'on_change' CHECK (policy IN ('always', 'on_change', 'on_regression')),
    budget_s      float8 NOT NULL DEFAULT 300,
    patience_s    float8 NOT NULL DEFAULT 3600,
    machine_class text,
    created_at    timestamptz NOT NULL DEFAULT now()
);

-- The request of a verified webhook, without the rest of its body. account: it owns the secret that signed it; a delivery
-- id counts once for each account. project_id: that it concerned; NULL: not worked on yet, or none.
CREATE TABLE webhook_deliveries (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    forge          text NOT NULL,
    account        text NOT NULL,
    delivery       text NOT NULL,
    event          text NOT NULL,
    kind           text NOT NULL CHECK (kind IN ('ignored', 'ping', 'push', 'pull', 'closed', 'comment', 'again',
                                                 'installed')),
    repo           text NOT NULL DEFAULT '',
    sender         text NOT NULL DEFAULT '',
    number         bigint, -- of the pull request
    sha            text,   -- of a check that is to run again
    comment_id     bigint,
    comment_author text,
    comment_body   text,
    project_id     bigint,
    state          text NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'done', 'ignored')),
    note           text NOT NULL DEFAULT '', -- why it was ignored
    received_at    timestamptz NOT NULL DEFAULT now(),
    done_at        timestamptz,
    UNIQUE (forge, account, delivery)
);
CREATE INDEX webhook_deliveries_new ON webhook_deliveries (id) WHERE state = 'new';

-- seq grows with each thing that is to be looked at, seen_seq follows; due_at NULL: nothing is to be done. looked_at: the
-- forge was asked. allowed_sha: the fork's head that a maintainer let be measured. comment_number: of the comment that
-- is in use, 0: none; comment_rank: how bad the verdict in it is.
CREATE TABLE pulls (
    project_id     bigint NOT NULL REFERENCES projects (id),
    number         bigint NOT NULL,
    title          text NOT NULL DEFAULT '',
    author         text NOT NULL DEFAULT '',
    url            text NOT NULL DEFAULT '',
    head_sha       text,
    base_branch    text,
    merge_base     text,
    fork           boolean NOT NULL DEFAULT false,
    draft          boolean NOT NULL DEFAULT false,
    open           boolean NOT NULL DEFAULT true,
    allowed_sha    text,
    allowed_by     text,
    seq            bigint NOT NULL DEFAULT 1,
    seen_seq       bigint NOT NULL DEFAULT 0,
    due_at         timestamptz DEFAULT now(),
    looked_at      timestamptz,
    tries          int NOT NULL DEFAULT 0,
    trouble        text, -- why the last look failed
    comment_id     bigint,
    comment_number int NOT NULL DEFAULT 0,
    comment_hash   text,
    comment_rank   int NOT NULL DEFAULT 0,
    check_id       bigint,
    check_sha      text,
    check_hash     text,
    created_at     timestamptz NOT NULL DEFAULT now(),
    updated_at     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, number)
);
CREATE INDEX pulls_due ON pulls (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX pulls_head ON pulls (project_id, head_sha);

-- A head against its merge base. job_state: as last seen. verdict NULL: not decided yet. document: the comparison.
CREATE TABLE pull_measurements (
    project_id      bigint NOT NULL,
    id              bigint GENERATED ALWAYS AS IDENTITY,
    number          bigint NOT NULL,
    head_sha        text NOT NULL CHECK (head_sha ~ '^[0-9a-f]{40}$'),
    base_sha        text NOT NULL CHECK (base_sha ~ '^[0-9a-f]{40}$'),
    filter          text,
    asked_by        text NOT NULL,
    job_id          bigint,
    job_state       text NOT NULL DEFAULT 'queued',
    session_id      text,
    verdict         text CHECK (verdict IN ('regression', 'improvement', 'same', 'identical', 'inconclusive', 'broken',
                                            'nothing', 'outage')),
    reason          text,
    document        jsonb,
    accepted_by     text,
    accepted_reason text,
    superseded      boolean NOT NULL DEFAULT false,
    created_at      timestamptz NOT NULL DEFAULT now(),
    finished_at     timestamptz,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, number) REFERENCES pulls (project_id, number)
);
CREATE INDEX pull_measurements_of_pull ON pull_measurements (project_id, number, id);
CREATE INDEX pull_measurements_open ON pull_measurements (project_id, id) WHERE verdict IS NULL AND NOT superseded;

-- Commands in comments. comment_id < 0: no comment, but a check that is to run again.
CREATE TABLE pull_commands (
    project_id bigint NOT NULL,
    number     bigint NOT NULL,
    comment_id bigint NOT NULL,
    command    text NOT NULL,
    argument   text,
    author     text NOT NULL,
    state      text NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'done', 'refused')),
    answer     text,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, number, comment_id),
    FOREIGN KEY (project_id, number) REFERENCES pulls (project_id, number)
);

-- A role of the server changes these tables, and removes links and old deliveries.
DO $$
DECLARE
    old     text := pg_get_functiondef('server_rights(text)'::regprocedure);
    changed text := '''{browser_sessions,projects,commits,';
    deleted text := '''{browser_sessions,jobs,series_chunks';
BEGIN
    IF strpos(old, changed) = 0 OR strpos(old, deleted) = 0 THEN
        RAISE EXCEPTION 'server_rights is not the one of migration 0044';
    END IF;
    old := replace(old, changed, '''{forge_links,webhook_deliveries,pulls,pull_measurements,pull_commands,'
                                 'browser_sessions,projects,commits,');
    EXECUTE replace(old, deleted, '''{forge_links,webhook_deliveries,browser_sessions,jobs,series_chunks');
END $$;
