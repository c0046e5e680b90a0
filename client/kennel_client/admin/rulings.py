"""Rulings on entries, and the rebuttals of teams."""

from typing import Literal

from kennel_client.admin.arguments import RulingKind
from kennel_client.answers.rulings import StakeView
from kennel_client.answers.shared import AnswerView, CaseView, RebuttalView, RulingView
from kennel_client.api import path_of
from kennel_client.methods import Api, Method, Methods
from kennel_client.steps import Operation, all_pages, call, get


class Rulings(Methods[Api]):
    """Rulings on entries."""

    @Method
    def of(self, submission: str) -> Operation[CaseView]:
        """The rulings on an entry and the rebuttals against them, newest first."""
        return get(path_of("submissions", submission, "rulings"))

    @Method
    def stakes(self, submission: str) -> Operation[list[StakeView]]:
        """What another ruling on an entry would change on the boards."""
        return all_pages(path_of("submissions", submission, "rulings", "stakes"), "stakes")

    @Method
    def rule(
        self, submission: str, kind: RulingKind, reason: str, memorising: bool | None = None
    ) -> Operation[RulingView]:
        """Keep or disqualify an entry, or waive its penalty; the reason is told to the team."""
        body = {"kind": kind, "reason": reason, "memorising": memorising}
        return call("POST", path_of("submissions", submission, "rulings"), json=body)

    @Method
    def rule_team(self, slug: str, team: int, kind: RulingKind, reason: str) -> Operation[list[RulingView]]:
        """Rule on all scored entries of a team at once."""
        path = path_of("competitions", slug, "teams", team, "rulings")
        return call("POST", path, json={"kind": kind, "reason": reason})


class Rebuttals(Methods[Api]):
    """Appeals of teams against a disqualification or a penalty."""

    @Method
    def unanswered(self, slug: str) -> Operation[list[RebuttalView]]:
        """The rebuttals that wait for an answer."""
        return all_pages(path_of("competitions", slug, "rebuttals"), "rebuttals")

    @Method
    def grant(self, rebuttal: int, ruling: Literal["keep", "waive"], answer: str) -> Operation[AnswerView]:
        """Grant a rebuttal with a new ruling, which is made in the same act."""
        return call("POST", path_of("rebuttals", rebuttal, "answer"), json={"ruling": ruling, "answer": answer})

    @Method
    def refuse(self, rebuttal: int, answer: str) -> Operation[AnswerView]:
        """Refuse a rebuttal."""
        return call("POST", path_of("rebuttals", rebuttal, "answer"), json={"ruling": None, "answer": answer})
