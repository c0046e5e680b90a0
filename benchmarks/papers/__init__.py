"""Reproductions of papers with Kennel's own code.

copying_moons; interval_coverage; picked_images; recovery_experiment, with recovery_networks and
recovery_table.
"""
