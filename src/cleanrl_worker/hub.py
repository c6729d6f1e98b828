"""Saved models on the Hugging Face Hub, by its HTTP interface: create, ask how, upload, commit.

The token is `HF_TOKEN` of the environment. The training is over by then; an upload that fails costs
the upload.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic.contracts.errors import ConfigError, DaemonUnreachable, MosaicError
from mosaic.contracts.identifiers import file_name
from mosaic.contracts.secrets import mask_secrets

ENDPOINT = "https://huggingface.co"
_TIMEOUT_S = 60.0
_SAMPLE_BYTES = 512
_LFS = "application/vnd.git-lfs+json"
_EXISTS = 409


def repository_name(env_id: str, name: str, seed: int) -> str:
    """Return CleanRL's name of a model's repository: `<env>-<algo>-seed<seed>`."""
    return f"{file_name(env_id)}-{name}-seed{seed}"


def upload_files(repository: str, entity: str, files: Mapping[str, Path], *, summary: str) -> str:
    """Put files into a repository, which is made where there is none; return its address."""
    hub = _Hub()
    owner = entity or hub.user()
    hub.create(owner, entity, repository)
    hub.commit(f"{owner}/{repository}", files, summary)
    return f"{hub.endpoint}/{owner}/{repository}"


class _Hub:
    def __init__(self) -> None:
        self.endpoint = (os.environ.get("HF_ENDPOINT") or ENDPOINT).rstrip("/")
        token = os.environ.get("HF_TOKEN")
        if not token:
            raise ConfigError(
                "upload_model=true needs a token, and there is none.",
                hint="Set HF_TOKEN in the environment or in .env.",
            )
        self._authorization = {"Authorization": f"Bearer {token}"}

    def user(self) -> str:
        return str(self._json("GET", "/api/whoami-v2")["name"])

    def create(self, owner: str, organisation: str, name: str) -> None:
        document = {"name": name, "type": "model"}
        if organisation and organisation != self.user():
            document["organization"] = organisation
        try:
            self._json("POST", "/api/repos/create", document)
        except _Refused as error:
            if error.status != _EXISTS:
                raise

    def commit(self, repository: str, files: Mapping[str, Path], summary: str) -> None:
        """Upload the files as the hub wants each, then name them in one commit."""
        contents = {name: path.read_bytes() for name, path in files.items()}
        large = self._large(repository, contents)
        self._upload(repository, [contents[name] for name in large])
        lines: list[dict[str, Any]] = [{"key": "header", "value": {"summary": summary}}]
        for name, data in contents.items():
            lines.append(_large_line(name, data) if name in large else _line(name, data))
        body = "".join(json.dumps(line) + "\n" for line in lines).encode()
        self._send(
            "POST",
            f"{self.endpoint}/api/models/{repository}/commit/main",
            body,
            {"Content-Type": "application/x-ndjson", **self._authorization},
        )

    def _large(self, repository: str, contents: Mapping[str, bytes]) -> set[str]:
        """Return the files that the hub wants apart from the commit."""
        asked = [
            {
                "path": name,
                "size": len(data),
                "sample": base64.b64encode(data[:_SAMPLE_BYTES]).decode(),
            }
            for name, data in contents.items()
        ]
        answer = self._json("POST", f"/api/models/{repository}/preupload/main", {"files": asked})
        return {each["path"] for each in answer["files"] if each["uploadMode"] == "lfs"}

    def _upload(self, repository: str, contents: Sequence[bytes]) -> None:
        if not contents:
            return
        objects = {_digest(data): data for data in contents}
        asked = {
            "operation": "upload",
            "transfers": ["basic"],
            "hash_algo": "sha256",
            "objects": [{"oid": oid, "size": len(data)} for oid, data in objects.items()],
        }
        kind = {"Accept": _LFS, "Content-Type": _LFS}
        answer = self._json("POST", f"/{repository}.git/info/lfs/objects/batch", asked, kind)
        for each in answer["objects"]:
            # Without one the hub has these bytes already.
            upload = each.get("actions", {}).get("upload")
            if upload is not None:
                # Its own headers hold the right to write there; ours would be refused.
                self._send("PUT", upload["href"], objects[each["oid"]], upload.get("header", {}))
            verify = each.get("actions", {}).get("verify")
            if verify is not None:
                about = json.dumps({"oid": each["oid"], "size": each["size"]}).encode()
                self._send("POST", verify["href"], about, {**kind, **verify.get("header", {})})

    def _json(
        self, method: str, path: str, document: Any = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        body = None if document is None else json.dumps(document).encode()
        kind = headers or {"Content-Type": "application/json"}
        return json.loads(
            self._send(method, self.endpoint + path, body, {**kind, **self._authorization}) or b"{}"
        )

    def _send(
        self, method: str, address: str, body: bytes | None, headers: Mapping[str, str]
    ) -> bytes:
        request = urllib.request.Request(address, body, dict(headers), method=method)
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                told = error.read(500).decode(errors="replace")
            raise _Refused(error.code, mask_secrets(told, os.environ)) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise DaemonUnreachable(f"{self.endpoint} cannot be reached: {reason}.") from None


class _Refused(MosaicError):
    """The hub answered, and said no."""

    def __init__(self, status: int, told: str) -> None:
        super().__init__(f"The hub refused: {status} {' '.join(told.split())[:200]}")
        self.status = status


def _line(name: str, data: bytes) -> dict[str, Any]:
    content = base64.b64encode(data).decode()
    return {"key": "file", "value": {"path": name, "content": content, "encoding": "base64"}}


def _large_line(name: str, data: bytes) -> dict[str, Any]:
    value = {"path": name, "algo": "sha256", "oid": _digest(data), "size": len(data)}
    return {"key": "lfsFile", "value": value}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
