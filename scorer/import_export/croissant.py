"""The metadata of a data release in Croissant (MLCommons, 1.0), which lets libraries find and read its tables."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from scorer.db.tables import Competition
from scorer.import_export.release_columns import TABLES, Column, ColumnKind

VERSION = "http://mlcommons.org/croissant/1.0"
PARQUET, ZIP, MARKDOWN = "application/x-parquet", "application/zip", "text/markdown"
MEDIA_TYPES = {".parquet": PARQUET, ".zip": ZIP, ".md": MARKDOWN, ".onnx": "application/octet-stream"}
DATA_TYPES: Mapping[ColumnKind, str] = MappingProxyType(
    {
        "text": "sc:Text",
        "int": "sc:Integer",
        "float": "sc:Float",
        "bool": "sc:Boolean",
        "time": "sc:DateTime",
        "ints": "sc:Integer",
    }
)
_PREFIXES = {
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}
_TERMS = (
    "citeAs", "column", "extract", "field", "fileObject", "fileProperty", "fileSet", "format", "includes",
    "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex", "repeated",
    "replace", "separator", "source", "subField", "transform",
)  # fmt: skip
CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    **_PREFIXES,
    **{term: f"cr:{term}" for term in _TERMS},
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
}
"""The meaning of the short names, from the specification."""


def build_croissant(competition: Competition, files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The metadata as JSON-LD: the ``files`` (name, bytes, sha256) with addresses relative to it, and the columns of
    every table. It contains no date, so equal releases have equal metadata."""
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": VERSION,
        "name": f"{competition.slug}-release",
        "description": f"Entries of the competition {competition.title} with their measurements, evidence, labels,"
        " rulings and final ranks, under pseudonyms.",
        "distribution": [_file_object(file) for file in files],
        "recordSet": [_record_set(table, columns) for table, columns in TABLES.items()],
    }


def _file_object(file: Mapping[str, Any]) -> dict[str, Any]:
    name = str(file["name"])
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{file['bytes']} B",
        "encodingFormat": MEDIA_TYPES[name[name.rindex(".") :]],
        "sha256": file["sha256"],
    }


def _record_set(table: str, columns: Sequence[Column]) -> dict[str, Any]:
    fields = [_field(table, column) for column in columns]
    return {"@type": "cr:RecordSet", "@id": table, "name": table, "field": fields}


def _field(table: str, column: Column) -> dict[str, Any]:
    repeated = {"repeated": True} if column.kind == "ints" else {}
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{column.name}",
        "name": column.name,
        "description": column.meaning,
        "dataType": DATA_TYPES[column.kind],
        **repeated,
        "source": {"fileObject": {"@id": f"{table}.parquet"}, "extract": {"column": column.name}},
    }
