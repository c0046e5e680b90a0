"""The rules for a migration's statements on tables in use: expand, then contract (CONTRIBUTING.md).

The previous version reads and writes during a migration and after it. So a migration must not hold a lock while it
reads a whole table, remove what the previous version reads, or refuse what it writes.
"""

import re
from collections.abc import Collection, Iterable

TABLE = r"(?:ONLY )?(?P<table>\w+)"
VOLATILE = r"DEFAULT (?!now\()\w+\("
"""A default that PostgreSQL computes for every row. ``now()`` is one value for all of them."""
RULES = {
    "index": rf"CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY)\w+ ON {TABLE}",
    "constraint": rf"ALTER TABLE {TABLE} ADD CONSTRAINT (?!.*(?:NOT VALID|USING INDEX))",
    "column": rf"ALTER TABLE {TABLE} ADD COLUMN (?=.*NOT NULL)(?!.* DEFAULT )",
    "rewrite": rf"ALTER TABLE {TABLE} (?:ALTER COLUMN \w+ (?:TYPE|SET NOT NULL)|ADD .*(?:{VOLATILE}|GENERATED ))",
    "default": rf"ALTER TABLE {TABLE} ALTER COLUMN \w+ DROP DEFAULT",
    "removal": rf"(?:DROP (?:TABLE|VIEW) {TABLE}|ALTER TABLE (?P<changed>\w+) (?:DROP COLUMN|RENAME))",
    "rows": rf"(?:UPDATE|DELETE FROM|INSERT INTO \w+.* FROM) {TABLE}",
}
"""By rule: the statements that break it.

- index: Writers wait until it is built. ``CONCURRENTLY`` lets them write.
- constraint: PostgreSQL reads all rows under an exclusive lock. ``NOT VALID``, then ``VALIDATE CONSTRAINT`` avoids it.
- column: It fails if the table has rows.
- rewrite: PostgreSQL reads or rewrites all rows under an exclusive lock.
- default: The previous version does not know the column and can no longer insert.
- removal: The previous version may read it.
- rows: One transaction writes all rows of a table.
"""


def broken_rules(statements: Iterable[str], existing: Collection[str]) -> set[str]:
    """The rules that these statements break on existing tables."""
    broken = set()
    for statement in (" ".join(sql.split()) for sql in statements):
        for name, pattern in RULES.items():
            match = re.match(pattern, statement, re.IGNORECASE)
            if match and set(match.groupdict().values()) & set(existing):
                broken.add(name)
    return broken
