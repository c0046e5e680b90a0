"""Benchmarks of speed and load, and reproductions of papers. README.md lists their pages and commands."""
