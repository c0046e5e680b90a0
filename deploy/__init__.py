"""How Kennel is started and operated: the ``kennel`` command, the standalone service, the demo, the containers.

cli: the commands of ``kennel`` that need the server; the others are those of the package ``kennel_client``.
doctor: ``kennel admin installation doctor``: what is wrong with an installation, and the remedy.
standalone: ``kennel up``: PostgreSQL, Redis, web and workers as one process tree.
systemd: ``kennel admin installation service``: the service as systemd units.
demo: ``kennel demo``: a whole competition on real photographs.
published_weights: published weight files turned into the files that extractors load.
documentation: the generated reference pages in ``docs/reference/``.
migration_drift: a check that tables in code and migrations agree.
"""
