"""Convert published weight files to files that extractors load. An operator runs this, outside the service."""
