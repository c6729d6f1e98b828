"""The schemas, as numbered steps. A step that was released is never edited: add the next one."""

from __future__ import annotations

# Lists scan the rows of runs: what is long, and no list shows, is kept apart.
_RUNS_1 = """
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    outcome TEXT,
    reason TEXT NOT NULL,
    algo TEXT NOT NULL,
    env_id TEXT NOT NULL,
    seed INTEGER,
    worker_id TEXT NOT NULL,
    worker TEXT NOT NULL,
    mode TEXT NOT NULL,
    step INTEGER NOT NULL,
    total_timesteps INTEGER,
    created_at REAL NOT NULL,
    started_at REAL,
    ended_at REAL,
    exit_code INTEGER,
    signal INTEGER,
    parent_run_id TEXT,
    last_return REAL,
    steps_per_second REAL,
    deleted_at REAL,
    is_archived INTEGER NOT NULL,
    cancel_requested_at REAL,
    cancel_reason TEXT NOT NULL,
    paused_s REAL NOT NULL,
    garbage_lines INTEGER NOT NULL,
    idempotency_key TEXT,
    auto_resumed_by TEXT,
    revision INTEGER NOT NULL,
    secret_names TEXT NOT NULL,
    reserved TEXT,
    CHECK ((state IN ('TERMINATED', 'FAULTED')) = (outcome IS NOT NULL))
);
CREATE TABLE run_details (
    run_id TEXT PRIMARY KEY,
    config TEXT NOT NULL,
    last_lines TEXT NOT NULL
);
CREATE UNIQUE INDEX runs_by_idempotency_key ON runs (idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE INDEX runs_by_creation ON runs (created_at, run_id);
CREATE INDEX runs_by_name ON runs (name, run_id);
CREATE INDEX runs_by_algo ON runs (algo, run_id);
CREATE INDEX runs_by_environment ON runs (env_id, run_id);
CREATE INDEX runs_by_state ON runs (state, run_id);
CREATE INDEX runs_by_step ON runs (step, run_id);
CREATE INDEX runs_by_parent ON runs (parent_run_id) WHERE parent_run_id IS NOT NULL;

CREATE TRIGGER runs_keep_their_end BEFORE UPDATE OF state, outcome ON runs
WHEN OLD.state IN ('TERMINATED', 'FAULTED')
    AND (NEW.state IS NOT OLD.state OR NEW.outcome IS NOT OLD.outcome)
BEGIN
    SELECT RAISE(ABORT, 'an ended run keeps its state and outcome');
END;

CREATE TABLE events (
    run_id TEXT NOT NULL,
    offset INTEGER NOT NULL,
    event TEXT NOT NULL,
    timestamp REAL NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (run_id, offset)
) WITHOUT ROWID;

CREATE TABLE event_offsets (
    run_id TEXT PRIMARY KEY,
    next_offset INTEGER NOT NULL
) WITHOUT ROWID;
"""

# A point's `position` counts the points of its series from 0. Bucket b of level k covers the
# positions from b * 10^k up to (b + 1) * 10^k. NaN is NULL, as SQLite has it; `minimum` and
# `maximum` of a point are NULL where they are its value.
#
# Of a bucket, `minimum`, `maximum` and `total` are over finite values; `weight` counts these and
# `samples` all of them, so that the difference is what was NaN or infinite.
#
# A trimmed series has its buckets and no points; one without a run was removed altogether. Their
# rows go bit by bit (retention.py): until then they have leftovers.
_TELEMETRY_1 = """
CREATE TABLE series (
    series_id INTEGER PRIMARY KEY,
    run_id TEXT,
    tag TEXT NOT NULL,
    points INTEGER NOT NULL,
    last_step INTEGER NOT NULL,
    last_value REAL,
    is_trimmed INTEGER NOT NULL DEFAULT 0,
    has_leftovers INTEGER NOT NULL DEFAULT 0,
    UNIQUE (run_id, tag)
);
CREATE INDEX series_with_leftovers ON series (series_id) WHERE has_leftovers;

CREATE TABLE points (
    series_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    step INTEGER NOT NULL,
    value REAL,
    minimum REAL,
    maximum REAL,
    samples INTEGER NOT NULL,
    PRIMARY KEY (series_id, position)
) WITHOUT ROWID;

CREATE TABLE rollups (
    series_id INTEGER NOT NULL,
    level INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    first_step INTEGER NOT NULL,
    last_step INTEGER NOT NULL,
    minimum REAL,
    maximum REAL,
    total REAL NOT NULL,
    weight INTEGER NOT NULL,
    samples INTEGER NOT NULL,
    PRIMARY KEY (series_id, level, bucket)
) WITHOUT ROWID;

CREATE TABLE metric_offsets (
    run_id TEXT PRIMARY KEY,
    next_offset INTEGER NOT NULL
) WITHOUT ROWID;
"""

# The telemetry lane. `position` counts the steps of a run, and its episodes, from 0. Numbers are
# stored as such, everything else as JSON; bit 0 of `flags` is terminated, bit 1 truncated; `agent`
# is a place in the list `agents` of the recording, which names worker and agent.
#
# Only the first step of each episode is indexed: a whole index would cost more than the rows.
_TELEMETRY_2 = """
CREATE TABLE recordings (
    recording_id INTEGER PRIMARY KEY,
    run_id TEXT UNIQUE,
    agents TEXT NOT NULL,
    steps INTEGER NOT NULL,
    episodes INTEGER NOT NULL,
    is_trimmed INTEGER NOT NULL DEFAULT 0,
    has_leftovers INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE steps (
    recording_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    agent INTEGER NOT NULL,
    episode_index INTEGER NOT NULL,
    step_index INTEGER NOT NULL,
    episode_seed INTEGER,
    action,
    observation,
    reward REAL,
    flags INTEGER NOT NULL,
    info TEXT,
    render_payload TEXT,
    timestamp REAL,
    PRIMARY KEY (recording_id, position)
) WITHOUT ROWID;
CREATE INDEX steps_that_begin_episodes ON steps (recording_id, episode_index, agent, position)
    WHERE step_index = 0;

CREATE TABLE episodes (
    recording_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    agent INTEGER NOT NULL,
    episode_index INTEGER NOT NULL,
    total_reward REAL,
    steps INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    seed INTEGER,
    metadata TEXT,
    timestamp REAL,
    PRIMARY KEY (recording_id, position)
) WITHOUT ROWID;
CREATE INDEX episodes_by_return ON episodes (recording_id, total_reward);
CREATE INDEX episodes_by_index ON episodes (recording_id, episode_index);
"""

RUNS = (_RUNS_1,)
TELEMETRY = (_TELEMETRY_1, _TELEMETRY_2)
