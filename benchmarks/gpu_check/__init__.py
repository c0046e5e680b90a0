"""The check of a GPU (``make gpu-check``): for people with a CUDA machine to run, and to paste what it prints.

checks: what a check found, and the sizes of a run
peaks: bandwidth and float32 arithmetic of this device, measured
networks: each network on the device: loading, capture, equality with the CPU, determinism, throughput
faults: what happens without memory, and after an error of CUDA
lost_device: a program that provokes an error of CUDA
page: the outcome as Markdown
__main__: the command ``python -m benchmarks.gpu_check``
entries: entries scored by the whole service on a GPU, a command of its own
"""
