"""Errors of the database and the queue server as sentences for operators, instead of tracebacks."""

from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError

from scorer.db.session import refusal
from scorer.errors import Unavailable


def in_words(error: Exception) -> Unavailable | None:
    """The sentence for a server that cannot be used, without the failed statement; None for other errors."""
    reason = refusal(error)
    if reason is not None:
        return Unavailable(
            "database-unreachable",
            f"The database cannot be used: {reason}. Check that PostgreSQL is running, and that DATABASE_URL, "
            "DATABASE_OWNER_URL and their passwords match the server's settings; with --data, check that `kennel up` "
            "is running there.",
        )
    if isinstance(error, RedisError | BrokerError):
        return Unavailable(
            "broker-unreachable",
            f"The queue server cannot be used: {_first_line(error)}. Check that it is running, and that REDIS_URL, "
            "including its password, matches the server's settings.",
        )
    return None


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")
