"""What is told about tau, from what was found."""

from dataclasses import asdict

from api.tau_schemas import (
    ChangeView,
    LackView,
    LineView,
    MedalMoveView,
    Method,
    MoveView,
    OptionView,
    RetuningView,
    ReviewsView,
    TableView,
    ThresholdView,
)
from scorer.lifecycle import TrackKind
from scorer.tuning.threshold_history import ThresholdStep
from scorer.tuning.thresholds import Option, Retuning, choice_as_json
from scorer.tuning.what_if import WhatIfTable


def retuning_view(done: Retuning, kind: TrackKind, method: str, *, preview: bool) -> RetuningView:
    """A choice and what it does."""
    return RetuningView(
        track=kind,
        preview=preview,
        threshold_id=done.threshold.id if done.threshold else None,
        tau=done.choice.tau,
        previous_tau=done.previous_tau,
        method=method,
        choice=choice_as_json(done.choice),
        penalised=[ChangeView(**vars(each)) for each in done.penalised],
        freed=[ChangeView(**vars(each)) for each in done.freed],
        borderline=[ChangeView(**vars(each)) for each in done.borderline],
        moves=[MoveView(**vars(each)) for each in done.moves],
        medals=[MedalMoveView(**vars(each)) for each in done.medals],
        reviews=ReviewsView(**vars(done.reviews)),
        reviews_before=ReviewsView(**vars(done.reviews_before)),
    )


def option_view(option: Option) -> OptionView:
    """What a method would choose."""
    method: Method = option.method  # type: ignore[assignment] # pydantic knows the names
    if option.choice is None:
        lacks = LackView(type=option.lacks.slug, message=option.lacks.message) if option.lacks else None
        return OptionView(method=method, tau=None, choice=None, lacks=lacks)
    return OptionView(method=method, tau=option.choice.tau, choice=choice_as_json(option.choice), lacks=None)


def step_view(step: ThresholdStep) -> ThresholdView:
    """A tau of the history."""
    row = step.threshold
    return ThresholdView(
        id=row.id,
        tau=row.tau,
        method=row.method,
        choice=row.choice,
        reason=row.reason,
        author=row.author.handle if row.author else None,
        created_at=row.created_at,
        standing=step.standing,
        penalised=[ChangeView(**vars(each)) for each in step.penalised],
        freed=[ChangeView(**vars(each)) for each in step.freed],
    )


def table_view(table: WhatIfTable, kind: TrackKind) -> TableView:
    """The table of a track."""
    return TableView(
        track=kind,
        tau=table.threshold.tau if table.threshold else None,
        threshold_id=table.threshold.id if table.threshold else None,
        medals=table.medals,
        entries=[LineView(**asdict(line)) for line in table.lines],
    )
