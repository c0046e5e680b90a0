"""Files of an entry where the blob store is S3 (moto's): its sprite sheet and its code."""

from tests.api.conftest import Service
from tests.api.submissions.test_presigned import settings
from tests.api.test_blobs import s3
from tests.factories import noise_images, zip_of
from tests.privacy.requests import CODE

__all__ = ["s3", "settings"]


def test_a_sprite_and_code_go_to_the_store_and_come_back(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(9))
    sprite = service.call("ada", "GET", entry["sprite"].removeprefix("/api/v1"))
    assert (sprite.status_code, sprite.headers["content-type"]) == (200, "image/png")
    assert sprite.content.startswith(b"\x89PNG\r\n")
    code = f"/submissions/{entry['id']}/code"
    for content in (CODE, zip_of(noise_images(3))):
        attached = service.call("ada", "PUT", code, content=content)
        assert attached.status_code == 200, attached.text
        assert service.call("organizer", "GET", code).content == content
    assert service.call("bob", "GET", code).status_code == 404
    assert service.call("bob", "GET", entry["sprite"].removeprefix("/api/v1")).status_code == 404
