"""Which statements read a table from end to end, as tests of plans tell it."""

from sqlalchemy.orm import Session

from tests.sql_statements import whole_reads


def test_what_no_index_serves_is_read_whole_whatever_its_order(session: Session) -> None:
    connection = session.connection()
    for condition, expected in (("subject = 'x'", {"mails"}), ("lower(recipient) = 'x'", set())):
        for order in ("", "ORDER BY id", "ORDER BY created_at"):
            statement = f"SELECT id FROM mails WHERE {condition} {order}"
            assert whole_reads(connection, statement, None) == expected, statement
    assert whole_reads(connection, "SELECT id FROM mails ORDER BY id LIMIT 1", None) == set()
