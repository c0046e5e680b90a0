"""Monitoring: structured logs and Prometheus metrics, for web processes, workers and commands alike.

logs: how log records are written, and the ids of requests and jobs in them
instruments: every Prometheus metric of the service
traces: spans of jobs and entries for OpenTelemetry
metrics_files: the files in which processes share them
exposition: metrics as Prometheus reads them, and the HTTP server of a worker
timed_value: a value that is read again only after some seconds
"""

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The library's own variable for the folder in which processes share their metrics."""
