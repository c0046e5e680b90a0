"""Imported results and figures, as requests and responses."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from scorer.imports import Imported


class ReproducedView(BaseModel):
    """How well the scores that the table tells come out again."""

    model_config = ConfigDict(from_attributes=True)

    compared: int
    largest_relative_difference: float | None


class ImportView(BaseModel):
    """What an import did."""

    competition: str
    created: bool = Field(description="Whether the competition was made for it.")
    rows: int
    added: int
    known: int = Field(description="Entries that had been imported before; they were left as they are.")
    labelled: int
    disqualified: int
    ignored_columns: list[str]
    reproduced: dict[str, ReproducedView] = Field(
        description="By track, where a tau was given and the table tells scores that are not sealed."
    )

    @classmethod
    def of(cls, done: Imported) -> Self:
        """The view of an import."""
        told = {name: ReproducedView.model_validate(each) for name, each in done.reproduced.items()}
        fields = {name: getattr(done, name, None) for name in cls.model_fields}
        return cls(**fields | {"competition": done.state.competition.slug, "reproduced": told})
