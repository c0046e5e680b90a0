"""Reproducible Parquet files: their bytes depend only on the rows and the version of the writer."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scorer.import_export.release_columns import Column
from scorer.import_export.release_tables import TableRow

WRITER = f"pyarrow {pa.__version__}"
ROW_GROUP_SIZE = 20_000
"""Rows in a row group, and in memory."""
ARROW_TYPES = {
    "text": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "time": pa.timestamp("us", tz="UTC"),
    "ints": pa.list_(pa.field("element", pa.int64(), nullable=False)),
}


def build_schema(columns: Sequence[Column]) -> pa.Schema:
    """The Arrow schema of the columns, with their meanings as metadata."""
    return pa.schema(
        [
            pa.field(
                column.name, ARROW_TYPES[column.kind], nullable=column.nullable, metadata={"meaning": column.meaning}
            )
            for column in columns
        ]
    )


def write_table(
    path: Path, columns: Sequence[Column], rows: Iterator[TableRow], *, progress: Callable[[int], None] = lambda _: None
) -> int:
    """Returns the number of rows. ``progress`` gets the number so far, after each group of rows."""
    schema = build_schema(columns)
    count = 0
    with pq.ParquetWriter(path, schema, version="2.6", compression="zstd", compression_level=9) as writer:
        while batch := list(islice(rows, ROW_GROUP_SIZE)):
            writer.write_table(_table(schema, batch), row_group_size=ROW_GROUP_SIZE)
            count += len(batch)
            progress(count)
    return count


def _table(schema: pa.Schema, batch: Sequence[TableRow]) -> Any:
    values = zip(*batch, strict=True)
    arrays = [pa.array(list(column), field.type) for column, field in zip(values, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
