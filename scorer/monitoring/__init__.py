"""Monitoring: structured logs and Prometheus metrics of web processes, workers and commands."""

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""prometheus-client's variable for the folder in which processes share their metrics."""
