"""The check of receipts accepts signatures of another implementation and refuses every change. For any other file, it
prints a sentence and exits with a status."""

import json
from base64 import urlsafe_b64encode
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kennel_client.cli import main
from kennel_client.cli.connection import exit_on_error
from kennel_client.cli.exit_codes import ExitCode
from kennel_client.errors import Unreadable
from kennel_client.receipts import FORM, SCORE_FORM, Forged, read_issuer, verified_receipt
from scorer.submissions.receipts import Receipt, ReceiptScore
from tests.pure.client.signed_receipts import KEY, OTHER, RECEIPT, SCORE, signed, to_jwk


def test_a_signed_receipt_is_accepted_by_any_of_the_keys() -> None:
    for key in (KEY, OTHER):
        assert verified_receipt(signed(RECEIPT, key), [to_jwk(OTHER), to_jwk(KEY)]) == RECEIPT
    assert read_issuer(signed(RECEIPT)) == "https://kennel.example.org"


def without_a_signature() -> dict[str, Any]:
    """An attack with the algorithm ``none``."""
    header = urlsafe_b64encode(json.dumps({"alg": "none", "kid": KEY.thumbprint()}).encode()).rstrip(b"=").decode()
    payload = signed(RECEIPT)["jws"].split(".")[1]
    return {"receipt": RECEIPT, "jws": f"{header}.{payload}."}


def swap_payload() -> dict[str, Any]:
    better = {**RECEIPT, "team": "Eve"}
    header, _, signature = signed(RECEIPT)["jws"].split(".")
    return {"receipt": better, "jws": ".".join((header, signed(better)["jws"].split(".")[1], signature))}


@pytest.mark.parametrize(
    "document",
    [
        {**signed(RECEIPT), "receipt": {**RECEIPT, "team": "Eve"}},
        swap_payload(),
        without_a_signature(),
        signed(RECEIPT, OTHER),
        signed(RECEIPT, OTHER, kid=KEY.thumbprint()),
        {"receipt": RECEIPT, "jws": "a.b"},
        {"receipt": RECEIPT, "jws": "é.é.é"},
        {"receipt": RECEIPT, "jws": "W10.W10.W10"},
        {"receipt": RECEIPT},
        {"receipt": [], "jws": ""},
        [],
        None,
    ],
)
def test_an_altered_receipt_is_refused(document: Any) -> None:
    with pytest.raises(Forged):
        verified_receipt(document, [to_jwk(KEY)])


@pytest.mark.parametrize("keys", [[], [{}], [{"kid": KEY.thumbprint()}], [{"kid": KEY.thumbprint(), "x": "AA"}]])
def test_without_its_key_no_receipt_is_accepted(keys: list[dict[str, Any]]) -> None:
    with pytest.raises(Forged):
        verified_receipt(signed(RECEIPT), keys)


class Outcome(NamedTuple):
    """The exit status and the output of a command."""

    status: int
    out: str
    err: str


@pytest.fixture
def verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """``kennel verify`` of a file with a text. ``keys`` is the content of the key file, or None to leave it out."""
    correct_keys = {"keys": [to_jwk(KEY)]}

    def run(text: str, *options: str, keys: Any = correct_keys) -> Outcome:
        file, key_file = tmp_path / "receipt.json", tmp_path / "keys.json"
        file.write_text(text)
        key_file.write_text(json.dumps(keys))
        with_keys = () if keys is None else ("--keys", str(key_file))
        with pytest.raises(SystemExit) as end, exit_on_error():
            main.client_app()(["verify", str(file), *with_keys, *options])
        assert isinstance(end.value.code, int)
        return Outcome(end.value.code, *capsys.readouterr())

    return run


def test_the_command_prints_a_receipt_with_fields_of_a_later_version(verify: Any) -> None:
    later = {**RECEIPT, "version": 2, "scores": [{**SCORE, "mifid": None, "interval": [1, 2]}]}
    for receipt in (RECEIPT, later):
        done = verify(json.dumps(signed(receipt)))
        assert (done.status, done.err) == (ExitCode.DONE, "")
        assert "Signed by https://kennel.example.org at 2026-03-14 12:00 UTC.\nSubmission abc of Zoë" in done.out
        assert json.loads(verify(json.dumps(signed(receipt)), "--json").out) == receipt


def test_the_service_sends_every_field_that_the_command_reads() -> None:
    assert FORM.keys() <= {field.name for field in fields(Receipt)}
    assert SCORE_FORM.keys() <= {field.name for field in fields(ReceiptScore)}


WRONG = [
    *((name, {key: value for key, value in RECEIPT.items() if key != name}) for name in RECEIPT if name != "issuer"),
    *((name, {**RECEIPT, name: 7}) for name in RECEIPT if name != "issuer"),
    *((name, {**RECEIPT, name: None}) for name in RECEIPT if name != "issuer"),
    *((f"scores.{name}", {**RECEIPT, "scores": [SCORE, {**SCORE, name: []}]}) for name in SCORE),
    *(
        (f"scores.{name}", {**RECEIPT, "scores": [{key: value for key, value in SCORE.items() if key != name}]})
        for name in SCORE
    ),
    ("scores", {**RECEIPT, "scores": ["public"]}),
    ("issued_at", {**RECEIPT, "issued_at": "yesterday"}),
    ("issued_at", {**RECEIPT, "issued_at": "2026-03-14T12:00:00"}),
]


@pytest.mark.parametrize(("field", "receipt"), WRONG)
def test_an_invalid_field_of_a_signed_receipt_is_named(verify: Any, field: str, receipt: Any) -> None:
    with pytest.raises(Unreadable):
        verified_receipt(signed(receipt), [to_jwk(KEY)])
    for options in ((), ("--json",)):
        done = verify(json.dumps(signed(receipt)), *options)
        assert done.status == ExitCode.USAGE
        message = json.loads(done.out)["problem"]["title"] if options else done.err
        assert f": {field} is missing or has an unknown type." in message
        assert done.out == "" or options


@pytest.mark.parametrize(
    ("text", "status", "sentence"),
    [
        ("", ExitCode.USAGE, "cannot be read"),
        ("no JSON", ExitCode.USAGE, "cannot be read"),
        ("[" * 200_000, ExitCode.USAGE, "cannot be read"),
        ('{"receipt": "NaN', ExitCode.USAGE, "cannot be read"),
        ("null", ExitCode.FAULTY, "This is not a receipt."),
        ("[]", ExitCode.FAULTY, "This is not a receipt."),
        ("{}", ExitCode.FAULTY, "This is not a receipt."),
        (json.dumps(RECEIPT), ExitCode.FAULTY, "This is not a receipt."),
        (json.dumps(signed({**RECEIPT, "issuer": 1})), ExitCode.FAULTY, "This is not a receipt."),
        (json.dumps({"receipt": RECEIPT, "jws": 1}), ExitCode.FAULTY, "This is not a receipt."),
        (json.dumps({"receipt": RECEIPT, "jws": ""}), ExitCode.FAULTY, "The signature of this receipt cannot be read."),
        (json.dumps(signed(RECEIPT, OTHER)), ExitCode.FAULTY, "This receipt is not signed with any of the keys."),
    ],
)
def test_a_file_that_is_not_a_receipt_is_reported_in_one_sentence(
    verify: Any, text: str, status: ExitCode, sentence: str
) -> None:
    done = verify(text)
    assert (done.status, done.out) == (status, "")
    assert sentence in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("keys", [[], {}, {"keys": {}}, "keys"])
def test_a_file_that_is_not_a_key_set_is_reported_in_one_sentence(verify: Any, keys: Any) -> None:
    done = verify(json.dumps(signed(RECEIPT)), keys=keys)
    assert (done.status, done.out) == (ExitCode.USAGE, "")
    assert "is not a key set." in done.err


@pytest.mark.parametrize("issuer", ["", "nowhere", "file:///etc/passwd", "http://[::1", "http://\x1b[2J\x07/"])
def test_an_invalid_issuer_is_printed_without_control_characters(verify: Any, issuer: str) -> None:
    done = verify(json.dumps(signed({**RECEIPT, "issuer": issuer})), keys=None)
    assert (done.status, done.out) == (ExitCode.NO_ANSWER, "")
    assert done.err.startswith("No response from ")
    assert not {"\x1b", "\x07"} & set(done.err)
