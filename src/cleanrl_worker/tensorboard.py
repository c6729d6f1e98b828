"""TensorBoard event files: all scalars of a step share one event."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.summary.writer.event_file_writer import EventFileWriter

_DT_STRING = 7  # tensorflow.DataType.DT_STRING


class TensorBoardWriter:
    def __init__(self, directory: Path) -> None:
        self._writer = EventFileWriter(str(directory), flush_secs=10)

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        summary = Summary(
            value=[Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
        )
        self._add(Event(wall_time=time.time(), step=step, summary=summary))

    def hyperparameters(self, values: Mapping[str, Any]) -> None:
        """Write CleanRL's text tag: a Markdown table of every parameter."""
        rows = "\n".join(f"|{name}|{value}|" for name, value in values.items())
        text = f"|param|value|\n|-|-|\n{rows}"
        tensor = TensorProto(
            dtype=_DT_STRING,
            string_val=[text.encode()],
            tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]),
        )
        metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
        value = Summary.Value(tag="hyperparameters/text_summary", metadata=metadata, tensor=tensor)
        self._add(Event(wall_time=time.time(), step=0, summary=Summary(value=[value])))

    def flush(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()

    def _add(self, event: Event) -> None:
        self._writer.add_event(event)
