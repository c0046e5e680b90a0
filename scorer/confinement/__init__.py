"""Confinement of a process that opens uploaded files: what it may read, call and use, given up for good.

landlock: which files the process may open
seccomp: which system calls the process may make
process: both of these, the network namespace, and resource limits
"""
