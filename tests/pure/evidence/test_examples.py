"""Example images of evidence: which ones are named."""

from scorer.evidence.examples import MAX_PAIRS, ExamplePair, example_groups


def pair(number: int, set_: str) -> dict[str, object]:
    """An example as evidence has it."""
    return {"generated": f"{number}.png", "reference": f"{set_}/a/{number}.png", "distance": 0.5, "mirrored": True}


def test_what_details_name_is_in_groups() -> None:
    details = {
        "near_copies": [pair(1, "0123abcd")],
        "cells": [{"cell": 0, "examples": []}, {"cell": 1, "examples": [pair(2, "0123abcd")]}],
        "repeats": [["a.png", "b.png", 0.25]],
        "identical": [["a.png", "b.png", "c.png"]],
        "mirrored_twins": [["d.png", "e.png"], ["e.png", "d.png"], ["f.png", "d.png"]],
    }
    assert example_groups(details) == {
        "near-copies": [ExamplePair("1.png", "a/1.png", 0.5, "0123abcd", mirrored=True)],
        "cell-2": [ExamplePair("2.png", "a/2.png", 0.5, "0123abcd", mirrored=True)],
        "repeats": [ExamplePair("a.png", "b.png", 0.25)],
        "identical": [ExamplePair("a.png", "b.png", 0.0)],
        "mirrored-twins": [
            ExamplePair("e.png", "d.png", 0.0, mirrored=True),
            ExamplePair("f.png", "d.png", 0.0, mirrored=True),
        ],
    }


def test_hidden_sets_and_what_is_too_much_are_left_out() -> None:
    details = {"near_copies": [pair(1, "0123abcd"), *(pair(number, "fedc9876") for number in range(2, 20))]}
    pairs = example_groups(details, {"0123abcd"})["near-copies"]
    assert [each.image for each in pairs] == [f"{number}.png" for number in range(2, 2 + MAX_PAIRS)]
    assert example_groups(details, {"0123abcd", "fedc9876"}) == {}
