"""Submissions, boards and competitions as tables and short texts on standard output."""

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kennel_client.cli.formatting import format_count, format_time, terminal_safe, terminal_safe_lines, utf8_output
from kennel_client.results import format_fid, format_number, significant

View = dict[str, Any]
LEFT, RIGHT = "left", "right"
GIGABYTE = 10**9
MAX_WIDTH = 1000
"""Columns if the output is not a terminal, so that rows are not wrapped."""


def print_answer(document: Any, show: Callable[[Console], None], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(document), file=utf8_output())
    else:
        show(Console(highlight=False, width=None if sys.stdout.isatty() else MAX_WIDTH))


def print_table(out: Console, columns: dict[str, str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under headings; ``columns`` maps each heading to its alignment."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for name, side in columns.items():
        grid.add_column(name, justify="right" if side == RIGHT else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(Text(cell) for cell in row))
    out.print(grid)


def print_text(out: Console, text: str) -> None:
    """Print text without wrapping it."""
    out.print(text, markup=False, soft_wrap=True)


def print_prose(out: Console, text: str) -> None:
    """Print sentences, wrapped between words."""
    out.print(text, markup=False)


def status_text(view: View) -> str:
    """A submission's status, with its queue position while it waits and its progress while it runs."""
    if view["queue_position"]:
        paused = ", scoring is paused" if view.get("paused") else ""
        return f"{view['status']} (position {view['queue_position']}{paused})"
    if view["fraction"] is not None:
        return f"{view['status']} {100 * view['fraction']:.0f} %"
    return str(view["status"])


def score_text(view: View) -> str:
    measurement = next((measurement for measurement in view["measurements"] if measurement["track"] == "public"), None)
    if measurement is None:
        return "-"
    return "copy" if measurement["copy"] else format_number(measurement["mifid"])


def print_submission(out: Console, view: View, page: str) -> None:
    print_text(out, f"{terminal_safe(view['file_name'])} in {view['competition']}: {status_text(view)}")
    if view["reason"]:
        print_prose(out, terminal_safe(view["reason"]))
    for fault in view["faults"] or ():
        print_text(out, f"  - {terminal_safe(fault)}")
    if view.get("ignored"):
        print_prose(out, terminal_safe(view["ignored"]))
    for measurement in view["measurements"]:
        print_text(out, _measurement(measurement))
        print_prose(out, terminal_safe(measurement["explanation"]))
    for number in view.get("shown", ()):
        print_text(out, terminal_safe(_shown_number(number)))
    print_text(out, page)


def _shown_number(view: View) -> str:
    error = f" ± {significant(view['standard_error'], 2)}" if view["standard_error"] is not None else ""
    number = "none" if view["value"] is None else f"{significant(view['value'])}{error}"
    return f"{view['name']}: {number} ({view['title']} with {view['extractor']}, {view['better']} is better)"


def _measurement(view: View) -> str:
    score = "a copy, no score" if view["copy"] else f"MiFID {format_number(view['mifid'])}"
    parts = [
        score,
        f"FID {format_fid(view['fid'], view['fid_spread'])}",
        f"distance {format_number(view['memorization_distance'], 4)}",
    ]
    if view["rank"]:
        parts.append(f"rank {view['rank']}")
    elif view["would_be_rank"]:
        parts.append(f"would be rank {view['would_be_rank']}")
    return f"{view['track']}: {' · '.join(parts)}"


def print_generator(out: Console, view: View) -> None:
    place = f" (position {view['queue_position']})" if view["queue_position"] else ""
    print_text(out, f"generator {view['sha256'][:12]}: {view['state']}{place}")
    if view["refusal"]:
        print_prose(out, terminal_safe(view["refusal"]))
    for fault in view["faults"]:
        print_text(out, f"  - {terminal_safe(fault)}")
    if view["result"]:
        print_prose(out, f"{view['result']['verdict']}: {terminal_safe(view['result']['explanation'])}")
        if match := view["result"].get("match"):
            print_prose(out, f"{match['verdict']}: {terminal_safe(match['sentence'])}")
    elif view["state"] == "done":
        print_prose(out, "The result is shown once the provisional or final board is published.")


def print_board(out: Console, view: View, shown: Sequence[str] = ()) -> None:
    """Print a board: benchmarks, places and copies. ``shown``: names of shown tracks to print."""
    columns = {"rank": RIGHT, "MiFID": RIGHT, "FID": RIGHT, "distance": RIGHT}
    columns |= dict.fromkeys(shown, RIGHT) | {"": LEFT, "entries": RIGHT, "team": LEFT}

    def row(rank: str, place: View, remark: str) -> tuple[str, ...]:
        numbers = (
            format_number(place.get("score")),
            format_fid(place.get("fid"), place.get("fid_spread")),
            format_number(place["memorization_distance"], 3),
            *(significant(place.get("shown", {}).get(name, {}).get("value")) for name in shown),
        )
        return rank, *numbers, remark, str(place.get("entries", "-")), terminal_safe(place["team"])

    rows = [row("-", place, "benchmark") for place in view["benchmarks"]]
    rows += [row(str(place["rank"]), place, "penalised" if place["penalised"] else "") for place in view["entries"]]
    rows += [row("-", place, "copy") for place in view["copies"]]
    kind = "late" if view["late"] else view["track"]
    tau = "no tau yet" if view["tau"] is None else f"tau {format_number(view['tau'], 4)}"
    print_text(out, f"{view['competition']}, {kind} board: {format_count(view['teams'], 'team')}, {tau}")
    print_table(out, columns, rows)


def print_final_picks(out: Console, view: View) -> None:
    if view["chosen"]:
        print_text(out, f"Your team has picked {len(view['submissions'])} of at most {view['most']} submissions:")
    else:
        print_text(
            out, f"Your team has not picked any submissions, so its best public ones count, at most {view['most']}:"
        )
    for submission in view["submissions"] or ("none yet",):
        print_text(out, f"  {submission}")
    print_text(
        out,
        f"You can change this until {format_time(view['until'])}." if view["until"] else "You can still change this.",
    )


def print_rules(out: Console, view: View) -> None:
    if view["rules_sha256"] is None:
        print_text(out, f"{terminal_safe(view['title'])} has no rules to accept.")
        return
    print_text(out, f"{terminal_safe(view['title'])}: rules\n\n{terminal_safe_lines(view['rules'])}\n")
    if view["rules_accepted"] is not None:
        print_text(
            out, "You have accepted these rules." if view["rules_accepted"] else "You have not accepted these rules."
        )


def quota_text(view: View) -> str:
    if view["daily_limit"] is None:
        left = "No daily limit"
    else:
        left = f"{view['remaining_today']} of {view['daily_limit']} submissions left today"
    limit = f" of {view['max_bytes'] / GIGABYTE:.2f}" if view["max_bytes"] is not None else ""
    taken = (view["stored_bytes"] + view["staged_bytes"]) / GIGABYTE
    stored = f"Your zips, generators, code and uploads use {taken:.2f}{limit} GB."
    match view["refusal"]:
        case None:
            return f"{left}. {stored}"
        case "pending-limit":
            return f"{left}; {view['pending']} in progress (the limit). {stored}"
        case "rejected-limit":
            left = f"{view['rejected_today']} rejected uploads today (the limit)"
    if view["next_entry_at"] is None:
        return f"{left}, and no more submissions are possible before the deadline. {stored}"
    return f"{left}; you can submit again at {format_time(view['next_entry_at'])}. {stored}"
