"""The examination: all checks in order."""

from collections.abc import Iterator

from deploy.doctor import blob_store, database, jobs, machine, queue_server, surroundings
from deploy.doctor.installation import Check, Fault, Installation, Outcome, Skipped
from scorer.errors import KennelError

CHECKS: tuple[Check, ...] = (
    *database.CHECKS,
    *queue_server.CHECKS,
    *blob_store.CHECKS,
    *machine.CHECKS,
    *jobs.CHECKS,
    *surroundings.CHECKS,
)


def examine(installation: Installation) -> Iterator[Outcome]:
    """The outcome of every check, one by one."""
    unmet: set[str] = set()
    for check in CHECKS:
        lacking = [name for name in check.needs if name in unmet]
        if lacking:
            outcome = Outcome(check.name, "skipped", f'not checked: the check "{lacking[0]}" did not pass')
        else:
            outcome = run_check(check, installation)
        if lacking or outcome.state == "wrong":
            unmet.add(check.name)
        yield outcome


def run_check(check: Check, installation: Installation) -> Outcome:
    try:
        return Outcome(check.name, "ok", check.look(installation))
    except Skipped as reason:
        return Outcome(check.name, "skipped", str(reason))
    except Fault as fault:
        finding = str(fault)
    except KennelError as error:
        finding = error.message
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the operator must know
        finding = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    return Outcome(check.name, "wrong", finding, check.remedy)
