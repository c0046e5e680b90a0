"""Checking receipts: what another implementation has signed is accepted, and whatever was altered is not."""

import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from joserfc import jws
from joserfc.jwk import OKPKey

from kennel_client.receipts import Forged, issuer_of, verified_receipt

KEY, OTHER = (OKPKey.generate_key("Ed25519") for _ in range(2))
RECEIPT = {"issuer": "https://kennel.example.org", "team": "Zoë", "scores": [{"track": "public", "mifid": 12.5e-7}]}


def jwk_of(key: OKPKey) -> dict[str, Any]:
    return {**key.as_dict(private=False), "kid": key.thumbprint()}


def signed(receipt: Any, key: OKPKey = KEY, **header: Any) -> dict[str, Any]:
    """A receipt as the service gives it, signed by joserfc."""
    named = {"alg": "Ed25519", "kid": key.thumbprint(), **header}
    return {"receipt": receipt, "jws": jws.serialize_compact(named, json.dumps(receipt), key, algorithms=["Ed25519"])}


def test_a_signed_receipt_is_accepted_by_any_of_the_keys() -> None:
    for key in (KEY, OTHER):
        assert verified_receipt(signed(RECEIPT, key), [jwk_of(OTHER), jwk_of(KEY)]) == RECEIPT
    assert issuer_of(signed(RECEIPT)) == "https://kennel.example.org"


def without_a_signature() -> dict[str, Any]:
    """The attack of the algorithm ``none``."""
    header = urlsafe_b64encode(json.dumps({"alg": "none", "kid": KEY.thumbprint()}).encode()).rstrip(b"=").decode()
    payload = signed(RECEIPT)["jws"].split(".")[1]
    return {"receipt": RECEIPT, "jws": f"{header}.{payload}."}


def with_payload_of_another() -> dict[str, Any]:
    better = {**RECEIPT, "team": "Eve"}
    header, _, signature = signed(RECEIPT)["jws"].split(".")
    return {"receipt": better, "jws": ".".join((header, signed(better)["jws"].split(".")[1], signature))}


@pytest.mark.parametrize(
    "document",
    [
        {**signed(RECEIPT), "receipt": {**RECEIPT, "team": "Eve"}},
        with_payload_of_another(),
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
def test_what_was_altered_is_refused(document: Any) -> None:
    with pytest.raises(Forged):
        verified_receipt(document, [jwk_of(KEY)])


@pytest.mark.parametrize("keys", [[], [{}], [{"kid": KEY.thumbprint()}], [{"kid": KEY.thumbprint(), "x": "AA"}]])
def test_without_its_key_nothing_is_accepted(keys: list[dict[str, Any]]) -> None:
    with pytest.raises(Forged):
        verified_receipt(signed(RECEIPT), keys)
