"""All that the ``kaggle`` client may ask. It is another's interface, so ours does not describe it."""

from fastapi import APIRouter

from api.kaggle import competitions, data_files, submissions, tokens, uploads

router = APIRouter(include_in_schema=False)
for module in (competitions, submissions, data_files, uploads, tokens):  # what answers unknown calls is in the last one
    router.include_router(module.router)
