"""Latents of draws: from a secret to a digest, and from a digest to latent points.

Both steps are written out here and in docs/explanation/draws.md, and stored test vectors hold them fixed: no random
number generator of a library promises the same stream in its next version.

A digest is an HMAC-SHA-256. The public digest depends on the network, the latent space, the team and the number of the
draw, the private one on the number alone. Image ``i`` has the stream ``SHAKE-256(digest || i)``, with ``i`` as 8 bytes,
big-endian. Each 8 bytes of the stream are an integer whose upper 53 bits ``k`` give ``u = (k + 0.5) / 2**53``, in
(0, 1). The first ``u`` chooses the class, the following ones the coordinates in order. So a coordinate does not depend
on how many others there are.
"""

import hashlib
import hmac
import re

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from scorer.generators.latents import TRUNCATION, Latent

Latents = NDArray[np.float32]
FIXED_DRAW, FIXED_LATENTS = 0, 64
"""The number of the private draw whose latents compare generators with each other, and how many there are."""
_NUMBER_BYTES = 8


def public_digest(secret: bytes, *, network_sha256: str, latent: Latent, team_id: int, number: int) -> bytes:
    """The digest of a team's public draw. For a late entry, ``secret`` is that of late entries."""
    space = (latent.distribution, latent.dimension, latent.classes or 0)
    return _digest(secret, "public", network_sha256, *space, team_id, number)


def private_digest(secret: bytes, number: int) -> bytes:
    """The digest of a private draw, which is the same for all entries of a competition."""
    return _digest(secret, "private", number)


def _digest(secret: bytes, *parts: str | int) -> bytes:
    message = "\n".join(["kennel draw 1", *map(str, parts)])
    return hmac.digest(secret, message.encode(), "sha256")


def digest_of_seed(seed: str) -> bytes:
    """The digest in 64 hexadecimal digits, or the SHA-256 of any other text."""
    is_digest = re.fullmatch("[0-9a-fA-F]{64}", seed)
    return bytes.fromhex(seed) if is_digest else hashlib.sha256(seed.encode()).digest()


PROBE_DIGEST = digest_of_seed("kennel check")
"""Of the latents from which a check measures a generator. They are no secret, because its refusal says something about
the images."""


def latents(digest: bytes, latent: Latent, *, stop: int, start: int = 0) -> Latents:
    """The latents of images ``start`` to ``stop`` of a draw: (stop - start, dimension + classes) float32."""
    size = (latent.dimension + 1) * _NUMBER_BYTES
    streams = b"".join(
        hashlib.shake_256(digest + image.to_bytes(_NUMBER_BYTES, "big")).digest(size) for image in range(start, stop)
    )
    numbers = np.frombuffer(streams, ">u8").reshape(stop - start, latent.dimension + 1)
    uniform = ((numbers >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
    points = _from_uniform(uniform[:, 1:], latent).astype(np.float32)
    if latent.classes is None:
        return points
    chosen = np.minimum((uniform[:, 0] * latent.classes).astype(int), latent.classes - 1)
    return np.hstack([points, np.eye(latent.classes, dtype=np.float32)[chosen]])


def _from_uniform(uniform: NDArray[np.float64], latent: Latent) -> NDArray[np.float64]:
    if latent.distribution == "uniform":
        return 2.0 * uniform - 1.0
    if latent.distribution == "truncated-normal":
        low, high = ndtr(-TRUNCATION), ndtr(TRUNCATION)
        uniform = low + uniform * (high - low)
    normal: NDArray[np.float64] = ndtri(uniform)
    return normal
