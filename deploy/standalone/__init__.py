"""`kennel up`: everything on one machine, as one process tree, from PyPI wheels and one data folder."""
