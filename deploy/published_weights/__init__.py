"""Published weight files turned into the files that extractors load. Run by an operator, outside the service."""
