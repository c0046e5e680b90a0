"""The part of Kaggle's HTTP API that the ``kaggle`` client uses. The rules and limits of the JSON API apply."""
