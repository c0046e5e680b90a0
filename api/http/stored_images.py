"""The dependency for images of stored zips, which people look at."""

from typing import Annotated

from fastapi import Depends, Request

from scorer.evidence.images import StoredImages


async def stored_images(request: Request) -> StoredImages:
    """The images of stored zips, as this process keeps them."""
    images: StoredImages = request.app.state.stored_images
    return images


ZipImages = Annotated[StoredImages, Depends(stored_images)]
