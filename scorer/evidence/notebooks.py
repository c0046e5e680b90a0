"""Recognising notebooks. A limited process reads the bytes, so this module imports only the standard library."""

import re
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Sequence

_PIECE = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[][{}]', re.DOTALL)
"""A bracket, or a string, even without an end. Searching for the end from every quote in it would take hours."""
_VALUE = re.compile(rb"\s*:\s*(.)", re.DOTALL)
_CLOSED_BY = {b"{": b"}", b"[": b"]"}
_KEYS = {b'"cells"', b'"nbformat"'}
_MAX_DEPTH = 1000
_CHUNK_BYTES = 1 << 16


def is_notebook(parts: Sequence[bytes]) -> bool:
    """Whether bytes have the structure of a notebook: UTF-8, matching brackets, and a notebook's keys in the outer
    object.

    They are not parsed, because a parsed notebook takes thirty times its size.
    """
    content = parts[0].removeprefix(BOM_UTF8).strip()
    if not content.startswith(b"{") or not content.endswith(b"}") or not _is_utf8(content):
        return False
    keys: dict[bytes, bytes] = {}
    open_brackets: list[bytes] = []
    for piece in _PIECE.finditer(content):
        token = piece[0]
        if token in _KEYS and len(open_brackets) == 1:
            value = _VALUE.match(content, piece.end())
            keys |= {token: value[1]} if value else {}
        elif not _follow(open_brackets, token) or (not open_brackets and piece.end() < len(content)):
            return False
    return not open_brackets and keys.get(b'"cells"') == b"[" and b'"nbformat"' in keys


def _follow(open_brackets: list[bytes], token: bytes) -> bool:
    """Open or close a bracket. Returns whether it is allowed there."""
    if token in _CLOSED_BY:
        open_brackets.append(_CLOSED_BY[token])
        return len(open_brackets) <= _MAX_DEPTH
    return token.startswith(b'"') or (bool(open_brackets) and open_brackets.pop() == token)


def _is_utf8(content: bytes) -> bool:
    decoder = getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(content), _CHUNK_BYTES):
            decoder.decode(content[start : start + _CHUNK_BYTES])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
