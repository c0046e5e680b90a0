"""The rules for migrations, on single statements."""

import pytest

from tests.migrations.lock_rules import RULES, broken_rules


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("CREATE INDEX ix ON jobs (worker)", "index"),
        ("CREATE UNIQUE INDEX ix ON jobs (worker)", "index"),
        ("CREATE INDEX CONCURRENTLY ix ON jobs (worker)", None),
        ("CREATE INDEX ix ON others (worker)", None),
        ("ALTER TABLE jobs ADD CONSTRAINT c CHECK (turn > 0)", "constraint"),
        ("ALTER TABLE jobs ADD CONSTRAINT c CHECK (turn > 0) NOT VALID", None),
        ("ALTER TABLE jobs ADD CONSTRAINT c FOREIGN KEY (a) REFERENCES b (id)", "constraint"),
        ("ALTER TABLE jobs ADD CONSTRAINT c UNIQUE USING INDEX ix", None),
        ("ALTER TABLE jobs VALIDATE CONSTRAINT c", None),
        ("ALTER TABLE jobs ADD COLUMN a TEXT", None),
        ("ALTER TABLE jobs ADD COLUMN a TEXT NOT NULL", "column"),
        ("ALTER TABLE jobs ADD COLUMN a INTEGER DEFAULT '0' NOT NULL", None),
        ("ALTER TABLE jobs ADD COLUMN a TIMESTAMP DEFAULT clock_timestamp() NOT NULL", "rewrite"),
        ("ALTER TABLE jobs ADD COLUMN a TIMESTAMP DEFAULT now() NOT NULL", None),
        ("ALTER TABLE jobs ALTER COLUMN a SET NOT NULL", "rewrite"),
        ("ALTER TABLE jobs ALTER COLUMN a TYPE BIGINT", "rewrite"),
        ("ALTER TABLE jobs ALTER COLUMN a DROP NOT NULL", None),
        ("ALTER TABLE jobs ALTER COLUMN a DROP DEFAULT", "default"),
        ("ALTER TABLE jobs DROP COLUMN a", "removal"),
        ("ALTER TABLE jobs RENAME a TO b", "removal"),
        ("ALTER TABLE jobs RENAME TO works", "removal"),
        ("DROP TABLE jobs", "removal"),
        ("DROP TABLE others", None),
        ("UPDATE jobs SET a = 1", "rows"),
        ("DELETE FROM jobs", "rows"),
        ("INSERT INTO others (a)\n SELECT id FROM jobs", "rows"),
        ("INSERT INTO others (a) VALUES (1)", None),
        ("CREATE TABLE others (a BIGINT REFERENCES jobs (id))", None),
    ],
)
def test_a_statement_breaks_its_rule(statement: str, rule: str | None) -> None:
    assert broken_rules([statement], ["jobs"]) == ({rule} if rule else set())
    assert rule is None or rule in RULES
