"""Rescoring campaigns, with a worker's own code."""
