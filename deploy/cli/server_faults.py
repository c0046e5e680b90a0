"""Faults of database and queue server as sentences for the operator: commands end with one, not with a traceback."""

from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError

from scorer.db.session import refusal
from scorer.errors import Unavailable


def in_words(error: Exception) -> Unavailable | None:
    """The sentence for a server that is away or refuses, without the statement that failed; None for other errors."""
    reason = refusal(error)
    if reason is not None:
        return Unavailable(
            "database-unreachable",
            f"The database cannot be used: {reason}. Check that PostgreSQL runs, and compare DATABASE_URL, "
            "DATABASE_OWNER_URL and their passwords with its settings; with --data, check that `kennel up` runs there.",
        )
    if isinstance(error, RedisError | BrokerError):
        return Unavailable(
            "broker-unreachable",
            f"The queue server cannot be used: {_first_line(error)}. Check that it runs, and compare REDIS_URL and its "
            "password with its settings.",
        )
    return None


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
