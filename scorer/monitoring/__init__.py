"""Monitoring: structured logs and Prometheus metrics, for web processes, workers and commands alike."""

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The library's own variable for the folder in which processes share their metrics."""
