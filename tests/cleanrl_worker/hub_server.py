"""A stand-in for the Hugging Face Hub: the calls by which a model is uploaded, and what they left.

It speaks the hub's own protocol: whoami, create, preupload, the Git LFS batch, and the commit as
lines of JSON.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USER = "somebody"
LARGE = ".cleanrl_model"


class HubServer(ThreadingHTTPServer):
    def __init__(self, token: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.token = token
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.objects: dict[str, bytes] = {}
        self.calls: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextlib.contextmanager
def hub_server(token: str) -> Iterator[HubServer]:
    server = HubServer(token)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: HubServer

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        self._serve(self.rfile.read(int(self.headers["content-length"])))

    def do_PUT(self) -> None:
        self.do_POST()

    def _serve(self, body: bytes) -> None:
        hub = self.server
        hub.calls.append(f"{self.command} {self.path}")
        is_upload = self.path.startswith("/upload/")
        given = self.headers.get("authorization")
        if (given is None) != is_upload or given not in (None, f"Bearer {hub.token}"):
            self._answer(401, {"error": f"Invalid credentials: {given}"})
        elif is_upload:
            self._take_object(body)
        elif self.path == "/api/whoami-v2":
            self._answer(200, {"name": USER})
        elif self.path == "/api/repos/create":
            self._create(json.loads(body))
        elif self.path.endswith("/preupload/main"):
            files = json.loads(body)["files"]
            modes = {f["path"]: "lfs" if f["path"].endswith(LARGE) else "regular" for f in files}
            answer = [{"path": path, "uploadMode": mode} for path, mode in modes.items()]
            self._answer(200, {"files": answer})
        elif self.path.endswith(".git/info/lfs/objects/batch"):
            self._batch(json.loads(body))
        elif self.path.endswith("/commit/main"):
            self._commit(self.path.split("/")[3:5], body)
        else:
            self._answer(404, {"error": "Not found"})

    def _create(self, asked: dict[str, Any]) -> None:
        name = f"{asked.get('organization', USER)}/{asked['name']}"
        is_new = name not in self.server.repositories
        self.server.repositories.setdefault(name, {})
        self._answer(200 if is_new else 409, {"url": name} if is_new else {"error": "exists"})

    def _batch(self, asked: dict[str, Any]) -> None:
        objects = []
        for each in asked["objects"]:
            href = f"{self.server.address}/upload/{each['oid']}"
            known = each["oid"] in self.server.objects
            actions = {} if known else {"actions": {"upload": {"href": href}}}
            objects.append({**each, **actions})
        self._answer(200, {"transfer": "basic", "objects": objects})

    def _take_object(self, body: bytes) -> None:
        oid = self.path.rpartition("/")[2]
        is_right = hashlib.sha256(body).hexdigest() == oid
        if is_right:
            self.server.objects[oid] = body
        self._answer(200 if is_right else 400, {})

    def _commit(self, names: list[str], body: bytes) -> None:
        repository = self.server.repositories["/".join(names)]
        header, *files = [json.loads(line) for line in body.splitlines()]
        assert header["key"] == "header"
        for line in files:
            value = line["value"]
            if line["key"] == "lfsFile":
                repository[value["path"]] = self.server.objects[value["oid"]]
            else:
                repository[value["path"]] = base64.b64decode(value["content"])
        self._answer(200, {"success": True, "commitOid": "0" * 40})

    def _answer(self, status: int, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
