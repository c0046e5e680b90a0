"""The routers for the ``kaggle`` client. The interface is Kaggle's, so our OpenAPI document does not describe it."""

from api.kaggle import competitions, data_files, submissions, tokens, uploads

ROUTERS = [module.router for module in (competitions, submissions, data_files, uploads, tokens)]
"""That of ``tokens`` is the last: it matches unknown methods, too."""
