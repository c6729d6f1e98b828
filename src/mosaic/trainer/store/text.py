"""Text that SQLite takes."""

from __future__ import annotations


def storable(text: str) -> str:
    """Return the text with a question mark for each half of a surrogate pair.

    JSON can spell such a half ("\\ud800"), and UTF-8 cannot: one in a tag or a message would
    keep everything that comes with it from being stored.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
