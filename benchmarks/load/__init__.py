"""Load on the real service, over loopback (``make load``): what it bears, and whether it keeps its word meanwhile.

reads_beside_uploads, event_streams, held_attacks, last_hour (last_hour_plan, last_hour_findings), soak, start;
service: the service that is loaded, with delayed_worker; participants: who loads it.
"""
