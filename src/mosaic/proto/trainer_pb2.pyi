from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Flow(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FLOWING: _ClassVar[Flow]
    STARVED: _ClassVar[Flow]
    RESUMED: _ClassVar[Flow]
FLOWING: Flow
STARVED: Flow
RESUMED: Flow

class SubmitRunRequest(_message.Message):
    __slots__ = ("config_json", "secrets")
    class SecretsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CONFIG_JSON_FIELD_NUMBER: _ClassVar[int]
    SECRETS_FIELD_NUMBER: _ClassVar[int]
    config_json: str
    secrets: _containers.ScalarMap[str, str]
    def __init__(self, config_json: _Optional[str] = ..., secrets: _Optional[_Mapping[str, str]] = ...) -> None: ...

class SubmitRunResponse(_message.Message):
    __slots__ = ("run", "is_new")
    RUN_FIELD_NUMBER: _ClassVar[int]
    IS_NEW_FIELD_NUMBER: _ClassVar[int]
    run: Run
    is_new: bool
    def __init__(self, run: _Optional[_Union[Run, _Mapping]] = ..., is_new: _Optional[bool] = ...) -> None: ...

class ValidateConfigRequest(_message.Message):
    __slots__ = ("config_json", "secrets")
    class SecretsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CONFIG_JSON_FIELD_NUMBER: _ClassVar[int]
    SECRETS_FIELD_NUMBER: _ClassVar[int]
    config_json: str
    secrets: _containers.ScalarMap[str, str]
    def __init__(self, config_json: _Optional[str] = ..., secrets: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ValidateConfigResponse(_message.Message):
    __slots__ = ("is_valid", "error", "exit_code", "summary_json")
    IS_VALID_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_JSON_FIELD_NUMBER: _ClassVar[int]
    is_valid: bool
    error: str
    exit_code: int
    summary_json: str
    def __init__(self, is_valid: _Optional[bool] = ..., error: _Optional[str] = ..., exit_code: _Optional[int] = ..., summary_json: _Optional[str] = ...) -> None: ...

class RunRequest(_message.Message):
    __slots__ = ("run_id",)
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    def __init__(self, run_id: _Optional[str] = ...) -> None: ...

class GetRunRequest(_message.Message):
    __slots__ = ("run_id", "with_events")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    WITH_EVENTS_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    with_events: bool
    def __init__(self, run_id: _Optional[str] = ..., with_events: _Optional[bool] = ...) -> None: ...

class DeleteRunRequest(_message.Message):
    __slots__ = ("run_id", "purge")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    PURGE_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    purge: bool
    def __init__(self, run_id: _Optional[str] = ..., purge: _Optional[bool] = ...) -> None: ...

class ArchiveRunRequest(_message.Message):
    __slots__ = ("run_id", "undo")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    UNDO_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    undo: bool
    def __init__(self, run_id: _Optional[str] = ..., undo: _Optional[bool] = ...) -> None: ...

class ExportRunRequest(_message.Message):
    __slots__ = ("run_id", "with_checkpoints")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    WITH_CHECKPOINTS_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    with_checkpoints: bool
    def __init__(self, run_id: _Optional[str] = ..., with_checkpoints: _Optional[bool] = ...) -> None: ...

class Run(_message.Message):
    __slots__ = ("run_id", "name", "state", "outcome", "reason", "algo", "env_id", "seed", "worker_id", "step", "total_timesteps", "created_at", "started_at", "ended_at", "mode", "worker", "exit_code", "signal", "parent_run_id", "last_return", "steps_per_second", "deleted_at", "is_archived", "is_cancelling", "queue_position", "revision")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    ALGO_FIELD_NUMBER: _ClassVar[int]
    ENV_ID_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    TOTAL_TIMESTEPS_FIELD_NUMBER: _ClassVar[int]
    CREATED_AT_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    PARENT_RUN_ID_FIELD_NUMBER: _ClassVar[int]
    LAST_RETURN_FIELD_NUMBER: _ClassVar[int]
    STEPS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    DELETED_AT_FIELD_NUMBER: _ClassVar[int]
    IS_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    IS_CANCELLING_FIELD_NUMBER: _ClassVar[int]
    QUEUE_POSITION_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    name: str
    state: str
    outcome: str
    reason: str
    algo: str
    env_id: str
    seed: int
    worker_id: str
    step: int
    total_timesteps: int
    created_at: float
    started_at: float
    ended_at: float
    mode: str
    worker: str
    exit_code: int
    signal: int
    parent_run_id: str
    last_return: float
    steps_per_second: float
    deleted_at: float
    is_archived: bool
    is_cancelling: bool
    queue_position: int
    revision: int
    def __init__(self, run_id: _Optional[str] = ..., name: _Optional[str] = ..., state: _Optional[str] = ..., outcome: _Optional[str] = ..., reason: _Optional[str] = ..., algo: _Optional[str] = ..., env_id: _Optional[str] = ..., seed: _Optional[int] = ..., worker_id: _Optional[str] = ..., step: _Optional[int] = ..., total_timesteps: _Optional[int] = ..., created_at: _Optional[float] = ..., started_at: _Optional[float] = ..., ended_at: _Optional[float] = ..., mode: _Optional[str] = ..., worker: _Optional[str] = ..., exit_code: _Optional[int] = ..., signal: _Optional[int] = ..., parent_run_id: _Optional[str] = ..., last_return: _Optional[float] = ..., steps_per_second: _Optional[float] = ..., deleted_at: _Optional[float] = ..., is_archived: _Optional[bool] = ..., is_cancelling: _Optional[bool] = ..., queue_position: _Optional[int] = ..., revision: _Optional[int] = ...) -> None: ...

class RunDetails(_message.Message):
    __slots__ = ("run", "config_json", "run_dir", "manifest_json", "last_lines", "event_lines", "reserved_json", "garbage_lines")
    RUN_FIELD_NUMBER: _ClassVar[int]
    CONFIG_JSON_FIELD_NUMBER: _ClassVar[int]
    RUN_DIR_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_JSON_FIELD_NUMBER: _ClassVar[int]
    LAST_LINES_FIELD_NUMBER: _ClassVar[int]
    EVENT_LINES_FIELD_NUMBER: _ClassVar[int]
    RESERVED_JSON_FIELD_NUMBER: _ClassVar[int]
    GARBAGE_LINES_FIELD_NUMBER: _ClassVar[int]
    run: Run
    config_json: str
    run_dir: str
    manifest_json: str
    last_lines: _containers.RepeatedScalarFieldContainer[str]
    event_lines: _containers.RepeatedScalarFieldContainer[str]
    reserved_json: str
    garbage_lines: int
    def __init__(self, run: _Optional[_Union[Run, _Mapping]] = ..., config_json: _Optional[str] = ..., run_dir: _Optional[str] = ..., manifest_json: _Optional[str] = ..., last_lines: _Optional[_Iterable[str]] = ..., event_lines: _Optional[_Iterable[str]] = ..., reserved_json: _Optional[str] = ..., garbage_lines: _Optional[int] = ...) -> None: ...

class ListRunsRequest(_message.Message):
    __slots__ = ("states", "outcomes", "algo", "env_id", "worker", "text", "parent_run_id", "only_unfinished", "only_deleted", "with_archived", "order_by", "ascending", "page_size", "page_token")
    STATES_FIELD_NUMBER: _ClassVar[int]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    ALGO_FIELD_NUMBER: _ClassVar[int]
    ENV_ID_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    PARENT_RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ONLY_UNFINISHED_FIELD_NUMBER: _ClassVar[int]
    ONLY_DELETED_FIELD_NUMBER: _ClassVar[int]
    WITH_ARCHIVED_FIELD_NUMBER: _ClassVar[int]
    ORDER_BY_FIELD_NUMBER: _ClassVar[int]
    ASCENDING_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedScalarFieldContainer[str]
    outcomes: _containers.RepeatedScalarFieldContainer[str]
    algo: str
    env_id: str
    worker: str
    text: str
    parent_run_id: str
    only_unfinished: bool
    only_deleted: bool
    with_archived: bool
    order_by: str
    ascending: bool
    page_size: int
    page_token: str
    def __init__(self, states: _Optional[_Iterable[str]] = ..., outcomes: _Optional[_Iterable[str]] = ..., algo: _Optional[str] = ..., env_id: _Optional[str] = ..., worker: _Optional[str] = ..., text: _Optional[str] = ..., parent_run_id: _Optional[str] = ..., only_unfinished: _Optional[bool] = ..., only_deleted: _Optional[bool] = ..., with_archived: _Optional[bool] = ..., order_by: _Optional[str] = ..., ascending: _Optional[bool] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListRunsResponse(_message.Message):
    __slots__ = ("runs", "next_page_token", "total_count")
    RUNS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOTAL_COUNT_FIELD_NUMBER: _ClassVar[int]
    runs: _containers.RepeatedCompositeFieldContainer[Run]
    next_page_token: str
    total_count: int
    def __init__(self, runs: _Optional[_Iterable[_Union[Run, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., total_count: _Optional[int] = ...) -> None: ...

class WatchRunsRequest(_message.Message):
    __slots__ = ("run_ids", "without_snapshot", "only_unfinished")
    RUN_IDS_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    ONLY_UNFINISHED_FIELD_NUMBER: _ClassVar[int]
    run_ids: _containers.RepeatedScalarFieldContainer[str]
    without_snapshot: bool
    only_unfinished: bool
    def __init__(self, run_ids: _Optional[_Iterable[str]] = ..., without_snapshot: _Optional[bool] = ..., only_unfinished: _Optional[bool] = ...) -> None: ...

class RunUpdate(_message.Message):
    __slots__ = ("run", "is_snapshot_end", "is_removed")
    RUN_FIELD_NUMBER: _ClassVar[int]
    IS_SNAPSHOT_END_FIELD_NUMBER: _ClassVar[int]
    IS_REMOVED_FIELD_NUMBER: _ClassVar[int]
    run: Run
    is_snapshot_end: bool
    is_removed: bool
    def __init__(self, run: _Optional[_Union[Run, _Mapping]] = ..., is_snapshot_end: _Optional[bool] = ..., is_removed: _Optional[bool] = ...) -> None: ...

class FileChunk(_message.Message):
    __slots__ = ("name", "data")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    name: str
    data: bytes
    def __init__(self, name: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...

class RegisterWorkerRequest(_message.Message):
    __slots__ = ("run_id", "worker_id", "worker_kind", "proto_version", "schema_id", "schema_version", "supports_pause", "supports_checkpoint", "process", "mode")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    WORKER_KIND_FIELD_NUMBER: _ClassVar[int]
    PROTO_VERSION_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_ID_FIELD_NUMBER: _ClassVar[int]
    SCHEMA_VERSION_FIELD_NUMBER: _ClassVar[int]
    SUPPORTS_PAUSE_FIELD_NUMBER: _ClassVar[int]
    SUPPORTS_CHECKPOINT_FIELD_NUMBER: _ClassVar[int]
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    worker_id: str
    worker_kind: str
    proto_version: str
    schema_id: str
    schema_version: int
    supports_pause: bool
    supports_checkpoint: bool
    process: Process
    mode: str
    def __init__(self, run_id: _Optional[str] = ..., worker_id: _Optional[str] = ..., worker_kind: _Optional[str] = ..., proto_version: _Optional[str] = ..., schema_id: _Optional[str] = ..., schema_version: _Optional[int] = ..., supports_pause: _Optional[bool] = ..., supports_checkpoint: _Optional[bool] = ..., process: _Optional[_Union[Process, _Mapping]] = ..., mode: _Optional[str] = ...) -> None: ...

class RegisterWorkerResponse(_message.Message):
    __slots__ = ("accepted_version", "session_token", "next_offset")
    ACCEPTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    SESSION_TOKEN_FIELD_NUMBER: _ClassVar[int]
    NEXT_OFFSET_FIELD_NUMBER: _ClassVar[int]
    accepted_version: str
    session_token: str
    next_offset: int
    def __init__(self, accepted_version: _Optional[str] = ..., session_token: _Optional[str] = ..., next_offset: _Optional[int] = ...) -> None: ...

class HeartbeatRequest(_message.Message):
    __slots__ = ("run_id",)
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    def __init__(self, run_id: _Optional[str] = ...) -> None: ...

class HeartbeatResponse(_message.Message):
    __slots__ = ("state",)
    STATE_FIELD_NUMBER: _ClassVar[int]
    state: str
    def __init__(self, state: _Optional[str] = ...) -> None: ...

class Process(_message.Message):
    __slots__ = ("pid", "start_ticks")
    PID_FIELD_NUMBER: _ClassVar[int]
    START_TICKS_FIELD_NUMBER: _ClassVar[int]
    pid: int
    start_ticks: int
    def __init__(self, pid: _Optional[int] = ..., start_ticks: _Optional[int] = ...) -> None: ...

class ProxyMessage(_message.Message):
    __slots__ = ("run_id", "hello", "paused", "unpaused", "exited", "failed", "started")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    HELLO_FIELD_NUMBER: _ClassVar[int]
    PAUSED_FIELD_NUMBER: _ClassVar[int]
    UNPAUSED_FIELD_NUMBER: _ClassVar[int]
    EXITED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    STARTED_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    hello: Hello
    paused: Empty
    unpaused: Empty
    exited: WorkerExit
    failed: str
    started: Process
    def __init__(self, run_id: _Optional[str] = ..., hello: _Optional[_Union[Hello, _Mapping]] = ..., paused: _Optional[_Union[Empty, _Mapping]] = ..., unpaused: _Optional[_Union[Empty, _Mapping]] = ..., exited: _Optional[_Union[WorkerExit, _Mapping]] = ..., failed: _Optional[str] = ..., started: _Optional[_Union[Process, _Mapping]] = ...) -> None: ...

class Empty(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Hello(_message.Message):
    __slots__ = ("proxy", "worker", "is_paused")
    PROXY_FIELD_NUMBER: _ClassVar[int]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    IS_PAUSED_FIELD_NUMBER: _ClassVar[int]
    proxy: Process
    worker: Process
    is_paused: bool
    def __init__(self, proxy: _Optional[_Union[Process, _Mapping]] = ..., worker: _Optional[_Union[Process, _Mapping]] = ..., is_paused: _Optional[bool] = ...) -> None: ...

class WorkerExit(_message.Message):
    __slots__ = ("exit_code", "signal", "was_seen", "last_lines", "killed_leftovers")
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    WAS_SEEN_FIELD_NUMBER: _ClassVar[int]
    LAST_LINES_FIELD_NUMBER: _ClassVar[int]
    KILLED_LEFTOVERS_FIELD_NUMBER: _ClassVar[int]
    exit_code: int
    signal: int
    was_seen: bool
    last_lines: _containers.RepeatedScalarFieldContainer[str]
    killed_leftovers: int
    def __init__(self, exit_code: _Optional[int] = ..., signal: _Optional[int] = ..., was_seen: _Optional[bool] = ..., last_lines: _Optional[_Iterable[str]] = ..., killed_leftovers: _Optional[int] = ...) -> None: ...

class Command(_message.Message):
    __slots__ = ("cancel", "pause", "unpause", "finish")
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    PAUSE_FIELD_NUMBER: _ClassVar[int]
    UNPAUSE_FIELD_NUMBER: _ClassVar[int]
    FINISH_FIELD_NUMBER: _ClassVar[int]
    cancel: Cancel
    pause: Empty
    unpause: Empty
    finish: Empty
    def __init__(self, cancel: _Optional[_Union[Cancel, _Mapping]] = ..., pause: _Optional[_Union[Empty, _Mapping]] = ..., unpause: _Optional[_Union[Empty, _Mapping]] = ..., finish: _Optional[_Union[Empty, _Mapping]] = ...) -> None: ...

class Cancel(_message.Message):
    __slots__ = ("grace_s",)
    GRACE_S_FIELD_NUMBER: _ClassVar[int]
    grace_s: float
    def __init__(self, grace_s: _Optional[float] = ...) -> None: ...

class EventBatch(_message.Message):
    __slots__ = ("run_id", "offset", "next_offset", "data", "note")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    NEXT_OFFSET_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    offset: int
    next_offset: int
    data: bytes
    note: str
    def __init__(self, run_id: _Optional[str] = ..., offset: _Optional[int] = ..., next_offset: _Optional[int] = ..., data: _Optional[bytes] = ..., note: _Optional[str] = ...) -> None: ...

class EventAck(_message.Message):
    __slots__ = ("next_offset",)
    NEXT_OFFSET_FIELD_NUMBER: _ClassVar[int]
    next_offset: int
    def __init__(self, next_offset: _Optional[int] = ...) -> None: ...

class StreamRequest(_message.Message):
    __slots__ = ("run_id", "from_index", "credits", "limit", "follow", "only_new", "episode_index", "by_return", "ascending")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    FROM_INDEX_FIELD_NUMBER: _ClassVar[int]
    CREDITS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    ONLY_NEW_FIELD_NUMBER: _ClassVar[int]
    EPISODE_INDEX_FIELD_NUMBER: _ClassVar[int]
    BY_RETURN_FIELD_NUMBER: _ClassVar[int]
    ASCENDING_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    from_index: int
    credits: int
    limit: int
    follow: bool
    only_new: bool
    episode_index: int
    by_return: bool
    ascending: bool
    def __init__(self, run_id: _Optional[str] = ..., from_index: _Optional[int] = ..., credits: _Optional[int] = ..., limit: _Optional[int] = ..., follow: _Optional[bool] = ..., only_new: _Optional[bool] = ..., episode_index: _Optional[int] = ..., by_return: _Optional[bool] = ..., ascending: _Optional[bool] = ...) -> None: ...

class TelemetryLines(_message.Message):
    __slots__ = ("lines", "first_index", "flow", "skipped", "is_snapshot_end", "is_end", "total")
    LINES_FIELD_NUMBER: _ClassVar[int]
    FIRST_INDEX_FIELD_NUMBER: _ClassVar[int]
    FLOW_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    IS_SNAPSHOT_END_FIELD_NUMBER: _ClassVar[int]
    IS_END_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    lines: _containers.RepeatedScalarFieldContainer[str]
    first_index: int
    flow: Flow
    skipped: int
    is_snapshot_end: bool
    is_end: bool
    total: int
    def __init__(self, lines: _Optional[_Iterable[str]] = ..., first_index: _Optional[int] = ..., flow: _Optional[_Union[Flow, str]] = ..., skipped: _Optional[int] = ..., is_snapshot_end: _Optional[bool] = ..., is_end: _Optional[bool] = ..., total: _Optional[int] = ...) -> None: ...

class StreamMetricsRequest(_message.Message):
    __slots__ = ("run_id", "tags", "from_step", "to_step", "max_points", "follow", "only_tags")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    FROM_STEP_FIELD_NUMBER: _ClassVar[int]
    TO_STEP_FIELD_NUMBER: _ClassVar[int]
    MAX_POINTS_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    ONLY_TAGS_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    from_step: int
    to_step: int
    max_points: int
    follow: bool
    only_tags: bool
    def __init__(self, run_id: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., from_step: _Optional[int] = ..., to_step: _Optional[int] = ..., max_points: _Optional[int] = ..., follow: _Optional[bool] = ..., only_tags: _Optional[bool] = ...) -> None: ...

class MetricsUpdate(_message.Message):
    __slots__ = ("series", "is_snapshot", "is_end")
    SERIES_FIELD_NUMBER: _ClassVar[int]
    IS_SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    IS_END_FIELD_NUMBER: _ClassVar[int]
    series: _containers.RepeatedCompositeFieldContainer[Series]
    is_snapshot: bool
    is_end: bool
    def __init__(self, series: _Optional[_Iterable[_Union[Series, _Mapping]]] = ..., is_snapshot: _Optional[bool] = ..., is_end: _Optional[bool] = ...) -> None: ...

class Series(_message.Message):
    __slots__ = ("tag", "total_points", "points_per_bucket", "first_step", "last_step", "minimum", "maximum", "mean", "count", "last_value", "last_step_seen", "nonfinite")
    TAG_FIELD_NUMBER: _ClassVar[int]
    TOTAL_POINTS_FIELD_NUMBER: _ClassVar[int]
    POINTS_PER_BUCKET_FIELD_NUMBER: _ClassVar[int]
    FIRST_STEP_FIELD_NUMBER: _ClassVar[int]
    LAST_STEP_FIELD_NUMBER: _ClassVar[int]
    MINIMUM_FIELD_NUMBER: _ClassVar[int]
    MAXIMUM_FIELD_NUMBER: _ClassVar[int]
    MEAN_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    LAST_VALUE_FIELD_NUMBER: _ClassVar[int]
    LAST_STEP_SEEN_FIELD_NUMBER: _ClassVar[int]
    NONFINITE_FIELD_NUMBER: _ClassVar[int]
    tag: str
    total_points: int
    points_per_bucket: int
    first_step: _containers.RepeatedScalarFieldContainer[int]
    last_step: _containers.RepeatedScalarFieldContainer[int]
    minimum: _containers.RepeatedScalarFieldContainer[float]
    maximum: _containers.RepeatedScalarFieldContainer[float]
    mean: _containers.RepeatedScalarFieldContainer[float]
    count: _containers.RepeatedScalarFieldContainer[int]
    last_value: float
    last_step_seen: int
    nonfinite: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, tag: _Optional[str] = ..., total_points: _Optional[int] = ..., points_per_bucket: _Optional[int] = ..., first_step: _Optional[_Iterable[int]] = ..., last_step: _Optional[_Iterable[int]] = ..., minimum: _Optional[_Iterable[float]] = ..., maximum: _Optional[_Iterable[float]] = ..., mean: _Optional[_Iterable[float]] = ..., count: _Optional[_Iterable[int]] = ..., last_value: _Optional[float] = ..., last_step_seen: _Optional[int] = ..., nonfinite: _Optional[_Iterable[int]] = ...) -> None: ...

class TailLogsRequest(_message.Message):
    __slots__ = ("run_id", "stream", "lines", "follow")
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_FIELD_NUMBER: _ClassVar[int]
    run_id: str
    stream: str
    lines: int
    follow: bool
    def __init__(self, run_id: _Optional[str] = ..., stream: _Optional[str] = ..., lines: _Optional[int] = ..., follow: _Optional[bool] = ...) -> None: ...

class LogChunk(_message.Message):
    __slots__ = ("data",)
    DATA_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    def __init__(self, data: _Optional[bytes] = ...) -> None: ...

class GetHealthRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Health(_message.Message):
    __slots__ = ("version", "pid", "uptime_s", "var_dir", "target", "runs_by_state", "total_cpus", "free_cpus", "total_memory_mb", "free_memory_mb", "gpus", "queued", "rss_mb", "store_bytes", "disk_free_bytes", "warnings")
    class RunsByStateEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    UPTIME_S_FIELD_NUMBER: _ClassVar[int]
    VAR_DIR_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    RUNS_BY_STATE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_CPUS_FIELD_NUMBER: _ClassVar[int]
    FREE_CPUS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_MEMORY_MB_FIELD_NUMBER: _ClassVar[int]
    FREE_MEMORY_MB_FIELD_NUMBER: _ClassVar[int]
    GPUS_FIELD_NUMBER: _ClassVar[int]
    QUEUED_FIELD_NUMBER: _ClassVar[int]
    RSS_MB_FIELD_NUMBER: _ClassVar[int]
    STORE_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_FREE_BYTES_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    version: str
    pid: int
    uptime_s: float
    var_dir: str
    target: str
    runs_by_state: _containers.ScalarMap[str, int]
    total_cpus: int
    free_cpus: int
    total_memory_mb: int
    free_memory_mb: int
    gpus: _containers.RepeatedCompositeFieldContainer[Gpu]
    queued: int
    rss_mb: float
    store_bytes: int
    disk_free_bytes: int
    warnings: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, version: _Optional[str] = ..., pid: _Optional[int] = ..., uptime_s: _Optional[float] = ..., var_dir: _Optional[str] = ..., target: _Optional[str] = ..., runs_by_state: _Optional[_Mapping[str, int]] = ..., total_cpus: _Optional[int] = ..., free_cpus: _Optional[int] = ..., total_memory_mb: _Optional[int] = ..., free_memory_mb: _Optional[int] = ..., gpus: _Optional[_Iterable[_Union[Gpu, _Mapping]]] = ..., queued: _Optional[int] = ..., rss_mb: _Optional[float] = ..., store_bytes: _Optional[int] = ..., disk_free_bytes: _Optional[int] = ..., warnings: _Optional[_Iterable[str]] = ...) -> None: ...

class Gpu(_message.Message):
    __slots__ = ("index", "name", "memory_mb", "run_id")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    MEMORY_MB_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    index: int
    name: str
    memory_mb: int
    run_id: str
    def __init__(self, index: _Optional[int] = ..., name: _Optional[str] = ..., memory_mb: _Optional[int] = ..., run_id: _Optional[str] = ...) -> None: ...

class ListWorkersRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListWorkersResponse(_message.Message):
    __slots__ = ("workers_json",)
    WORKERS_JSON_FIELD_NUMBER: _ClassVar[int]
    workers_json: str
    def __init__(self, workers_json: _Optional[str] = ...) -> None: ...

class GetWorkerSchemaRequest(_message.Message):
    __slots__ = ("worker",)
    WORKER_FIELD_NUMBER: _ClassVar[int]
    worker: str
    def __init__(self, worker: _Optional[str] = ...) -> None: ...

class GetWorkerSchemaResponse(_message.Message):
    __slots__ = ("schema_json",)
    SCHEMA_JSON_FIELD_NUMBER: _ClassVar[int]
    schema_json: str
    def __init__(self, schema_json: _Optional[str] = ...) -> None: ...
