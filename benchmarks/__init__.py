"""Benchmarks of speed and load, and reproductions of papers. README.md lists pages and commands."""
