"""Confinement of a process that opens untrusted files: what it may read, call and use, given up for good.

landlock: which files the process may open
system_calls, seccomp: the system calls that such a process makes; the filter that lets it make no other
privileges: user, capabilities, and how many threads it may have
bubblewrap: read-only disks and a process table of its own, where that program is installed
process: all of these, the network namespace, and resource limits
import_path: where such a process imports its code from
fork_server: a process that has imported it, and forks such processes
limited_call, refusals: a function called in such a process; the errors that one tells its parent
"""
