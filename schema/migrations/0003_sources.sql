-- The sources of each benchmark as its newest build reported them: files by the build graph, and the
-- globs of perfci.yaml. '*' is used for every benchmark without a row of its own.
CREATE TABLE benchmark_sources (
    project_id bigint NOT NULL REFERENCES projects (id),
    benchmark  text NOT NULL,
    sha        text NOT NULL CHECK (sha ~ '^[0-9a-f]{40}$'),
    files      text[] NOT NULL DEFAULT '{}',
    globs      text[] NOT NULL DEFAULT '{}',
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, benchmark)
);
