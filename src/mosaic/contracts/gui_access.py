"""Who may look: a link that works once, and the cookie that it is exchanged for."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time

DEFAULT_PORT = 8765  # another one is taken where this one is
LINK_LIFETIME_S = 15 * 60.0

_NONCE_BYTES = 16


class Access:
    """Links and sessions of one GUI, both signed with its secret.

    Sessions outlive a restart; that a link was used is remembered until it would have expired.
    """

    def __init__(self, secret: str) -> None:
        self._key = secret.encode()
        self._used: dict[str, float] = {}

    def make_link_token(self, now: float | None = None) -> str:
        """Return a token for one login. Whoever can read the secret can make one."""
        expires = int((time.time() if now is None else now) + LINK_LIFETIME_S)
        text = f"{secrets.token_hex(_NONCE_BYTES)}.{expires}"
        return f"{text}.{self._sign('link', text)}"

    def is_good_link(self, token: str, now: float | None = None) -> bool:
        """Say whether the token would log somebody in."""
        now = time.time() if now is None else now
        text, _, signature = token.rpartition(".")
        nonce, _, expires = text.partition(".")
        is_ours = hmac.compare_digest(signature, self._sign("link", text))
        return is_ours and float(expires) > now and nonce not in self._used

    def use_link(self, token: str, now: float | None = None) -> str | None:
        """Exchange the token for a session; None where it is wrong, old or used."""
        now = time.time() if now is None else now
        if not self.is_good_link(token, now):
            return None
        self._used = {nonce: until for nonce, until in self._used.items() if until > now}
        nonce, expires, _ = token.split(".")
        self._used[nonce] = float(expires)
        session = secrets.token_hex(_NONCE_BYTES)
        return f"{session}.{self._sign('session', session)}"

    def is_session(self, cookie: str) -> bool:
        session, _, signature = cookie.partition(".")
        return bool(session) and hmac.compare_digest(signature, self._sign("session", session))

    @property
    def storage_secret(self) -> str:
        """The key with which the browser's own storage is signed."""
        return self._sign("storage", "browser")

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()


def cookie_name(port: int) -> str:
    """Return the cookie's name; browsers keep cookies by host, not by port."""
    return f"mosaic_session_{port}"
