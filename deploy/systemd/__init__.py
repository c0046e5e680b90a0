"""``kennel admin installation service``: the service as systemd units, on one machine without containers.

units: the units and their settings files.
unit_file: the form of a unit file.
"""
