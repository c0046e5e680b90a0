"""The wire of the official ``kaggle`` client, over the same calls as our own API: every rule and limit is the same."""
