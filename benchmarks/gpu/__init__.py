"""What one GPU does: checks of real ones, counted work, measured work of the host, a simulation of both: GPU.md

roofline: upper bounds of images per second, and the page
check_pages: what pages of ``make gpu-check`` say
host_stages, host_stages_contenders: what the host does for an entry beside the network, measured
pipeline: a simulation of processes that take turns on a GPU
submissions: seconds per submission, and the GPU's idle share
"""
