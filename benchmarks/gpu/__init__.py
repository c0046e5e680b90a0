"""What one GPU could do: counted work, measured work of the host, and a simulation of both together. GPU.md

roofline: upper bounds of images per second; the page, and the command that writes it
host_stages, host_stages_contenders: what the host does for an entry beside the network, measured
pipeline: a simulation of processes that take turns on a GPU
submissions: seconds per submission, and the GPU's idle share
"""
