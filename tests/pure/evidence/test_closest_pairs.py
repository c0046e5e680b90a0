"""Closest pairs of images, upright or mirrored, and the example images of evidence."""

import io

import numpy as np
import pytest
from PIL import Image

from scorer.archive import ImageSpec, list_images, list_references, mirror_images
from scorer.archive.selected_images import select_images
from scorer.errors import NotFound
from scorer.evidence import closest_pairs
from scorer.evidence.examples import MAX_PAIRS, ExamplePair, example_groups
from tests.factories import make_zip, noise_images


def named(*pairs_: tuple[int, int]) -> list[dict[str, object]]:
    """Pairs (image, reference) in the form of a measurement."""
    return [
        {"image": image, "reference": reference, "reference_name": f"0a/{reference}.png", "distance": 0.1}
        for image, reference in pairs_
    ]


def test_a_mirrored_match_is_marked_and_shown_in_the_same_direction() -> None:
    references = dict(enumerate(noise_images(1, 4)))
    images = {0: references[2], 1: mirror_images(references[3][None])[0], 5: noise_images(9, 1)[0]}
    straight, turned, other = closest_pairs._pairs(named((0, 2), (1, 3), (5, 0), (7, 1)), images, references)
    assert (straight.difference, straight.is_mirrored, straight.reference_name) == (0.0, False, "2.png")
    assert (turned.mirrored_difference, turned.is_mirrored) == (0.0, True)
    assert [match.number for match in (straight, turned, other)] == [1, 2, 3]
    picture = np.asarray(Image.open(io.BytesIO(closest_pairs.pairs_sheet([straight, turned, other]))))
    assert picture.shape == (32, 48, 3)
    assert (picture[:16, :32] == picture[16:, :32]).all()
    with pytest.raises(NotFound):
        closest_pairs.pairs_sheet([])


def test_difference_is_in_grey_levels() -> None:
    one = np.full((4, 4, 3), 10, np.uint8)
    assert closest_pairs.difference(one, one + 7) == 7.0
    assert closest_pairs.difference(one + 7, one) == 7.0  # unsigned numbers do not wrap around


def test_images_are_selected_by_their_positions() -> None:
    images = noise_images(3, 12)
    file = io.BytesIO(make_zip(images))
    listing = list_images(file, ImageSpec(12, 16))
    selected = select_images(file, listing, {11, 2, 40, -1}, size=16)
    assert sorted(selected) == [2, 11]
    assert all((selected[place] == images[place]).all() for place in selected)
    references = select_images(file, list_references(file), [5], size=8, of_references=True)
    assert {place: image.shape for place, image in references.items()} == {5: (8, 8, 3)}
    assert references[5].dtype == np.uint8


def pair(number: int, set_: str) -> dict[str, object]:
    """An example in the form of evidence."""
    return {"generated": f"{number}.png", "reference": f"{set_}/a/{number}.png", "distance": 0.5, "mirrored": True}


def test_examples_in_details_are_grouped() -> None:
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


def test_hidden_sets_and_excess_examples_are_left_out() -> None:
    details = {"near_copies": [pair(1, "0123abcd"), *(pair(number, "fedc9876") for number in range(2, 20))]}
    pairs = example_groups(details, {"0123abcd"})["near-copies"]
    assert [example.image for example in pairs] == [f"{number}.png" for number in range(2, 2 + MAX_PAIRS)]
    assert example_groups(details, {"0123abcd", "fedc9876"}) == {}
