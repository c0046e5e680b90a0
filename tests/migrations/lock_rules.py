"""What the statements of a migration do to tables that are in use: expand, then contract (CONTRIBUTING.md).

The previous version reads and writes while a migration runs, and after it. So a migration may not hold a lock while it
reads a whole table, take away what the previous version reads, or refuse what it writes.
"""

import re
from collections.abc import Collection, Iterable

TABLE = r"(?:ONLY )?(?P<table>\w+)"
VOLATILE = r"DEFAULT (?!now\()\w+\("
"""A default that each row has to be given; ``now()`` is one value for all of them."""
RULES = {
    "index": rf"CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY)\w+ ON {TABLE}",
    "constraint": rf"ALTER TABLE {TABLE} ADD CONSTRAINT (?!.*(?:NOT VALID|USING INDEX))",
    "column": rf"ALTER TABLE {TABLE} ADD COLUMN (?=.*NOT NULL)(?!.* DEFAULT )",
    "rewrite": rf"ALTER TABLE {TABLE} (?:ALTER COLUMN \w+ (?:TYPE|SET NOT NULL)|ADD .*(?:{VOLATILE}|GENERATED ))",
    "default": rf"ALTER TABLE {TABLE} ALTER COLUMN \w+ DROP DEFAULT",
    "removal": rf"(?:DROP (?:TABLE|VIEW) {TABLE}|ALTER TABLE (?P<changed>\w+) (?:DROP COLUMN|RENAME))",
    "rows": rf"(?:UPDATE|DELETE FROM|INSERT INTO \w+.* FROM) {TABLE}",
}
"""By name: the statements that break a rule.

index: whoever writes waits until it is made; ``CONCURRENTLY`` lets them write
constraint: all rows are read under an exclusive lock; ``NOT VALID``, then ``VALIDATE CONSTRAINT``, lets others go on
column: refused where there are rows
rewrite: all rows are written anew, or read, under an exclusive lock
default: a previous version that does not know the column can no longer insert
removal: the previous version may read it
rows: as many rows are written as there are, in one transaction
"""


def broken_rules(statements: Iterable[str], existing: Collection[str]) -> set[str]:
    """The names of the rules that statements break, for tables that were there before."""
    broken = set()
    for statement in (" ".join(each.split()) for each in statements):
        for name, pattern in RULES.items():
            match = re.match(pattern, statement, re.IGNORECASE)
            if match and set(match.groupdict().values()) & set(existing):
                broken.add(name)
    return broken
