"""An OpenAI-compatible service for the tests: it answers well, badly, slowly, or not at all."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# What to answer to the n-th request: a text, or a status with a text, or a delay before a text.
Behaviour = Callable[[int, dict[str, Any]], Any]


class Service:
    """What was asked of it, and where it is."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[Service]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            service.requests.append(body)
            service.keys.append(self.headers.get("Authorization"))
            said = behaviour(len(service.requests), body)
            status, text = said if isinstance(said, tuple) else (200, said)
            if isinstance(status, float):
                time.sleep(status)
                status = 200
            if text is None:  # hang up without a word
                self.close_connection = True
                return
            document: Any = {
                "choices": [{"message": {"role": "assistant", "content": text}}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 3},
            }
            data = json.dumps(document if status == 200 else {"error": text}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            return None

        def handle(self) -> None:
            try:
                super().handle()
            except (BrokenPipeError, ConnectionResetError):  # the asker had waited long enough
                return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service = Service(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
