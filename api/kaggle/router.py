"""All routes for the ``kaggle`` client. The interface is Kaggle's, so our OpenAPI document does not describe it."""

from api.http.routing import ApiRouter
from api.kaggle import competitions, data_files, submissions, tokens, uploads

router = ApiRouter(include_in_schema=False)
for module in (competitions, submissions, data_files, uploads, tokens):  # tokens last: it matches unknown methods, too
    router.include_router(module.router)
