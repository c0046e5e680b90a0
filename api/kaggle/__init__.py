"""The part of Kaggle's HTTP API that the ``kaggle`` client uses. Rules and limits are those of the JSON API."""
