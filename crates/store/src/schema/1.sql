-- Version 1. Never edited: the next version is a file of its own that changes what is here.

-- Names are kept once for all campaigns of the project.
CREATE TABLE tests (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE classes (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE campaigns (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    started_unix_ms INTEGER NOT NULL,
    command TEXT NOT NULL,
    root TEXT NOT NULL,
    revision TEXT,
    runner TEXT NOT NULL,
    runtime TEXT NOT NULL,
    seed INTEGER NOT NULL,
    settings TEXT NOT NULL,
    n_tests INTEGER NOT NULL,
    -- How it ended, and what was found; NULL while it can be resumed.
    ended TEXT,
    findings TEXT,
    -- Last, so that listing campaigns does not read it. Format: pack/suite.rs.
    suite BLOB NOT NULL
) STRICT;

CREATE TABLE runs (
    -- In the order in which they were recorded.
    id INTEGER PRIMARY KEY,
    campaign INTEGER NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    number INTEGER NOT NULL,
    -- Tests that were started.
    n_attempts INTEGER NOT NULL,
    -- Order, outcomes and durations. Format: pack/run.rs.
    packed BLOB NOT NULL,
    UNIQUE (campaign, number)
) STRICT;

-- What failures said, kept once however often it was said.
CREATE TABLE texts (
    id INTEGER PRIMARY KEY,
    digest INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;

CREATE INDEX texts_by_digest ON texts (digest);

CREATE TABLE failures (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
    test INTEGER NOT NULL REFERENCES tests,
    position INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    phase TEXT,
    message TEXT NOT NULL,
    text INTEGER NOT NULL REFERENCES texts
) STRICT;

CREATE INDEX failures_by_run ON failures (run);
CREATE INDEX failures_by_test ON failures (test);
CREATE INDEX failures_by_text ON failures (text);

-- Of the tests that have one worth keeping; a test without a row was not accused.
CREATE TABLE verdicts (
    campaign INTEGER NOT NULL REFERENCES campaigns ON DELETE CASCADE,
    test INTEGER NOT NULL REFERENCES tests,
    verdict TEXT NOT NULL,
    PRIMARY KEY (campaign, test)
) STRICT, WITHOUT ROWID;

CREATE INDEX verdicts_by_test ON verdicts (test);
