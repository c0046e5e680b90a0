"""Hostile input by the thousands: seeded, counted, each refused by name or accepted rightly.

input: one hostile input, and what must become of it
pngs, zips, onnx_models: the generators of inputs, each a sound file with some changes
onnx_reading: the images that an ONNX file makes, by the reader of generators and by onnx's own reference
judge: gives an input to the reader and compares the outcome with what must become of it
batch: the confined process that judges many inputs, with its memory, time and attempts to reach beyond itself watched
run: starts such processes, and names the input that ends one
fuzz: inputs that atheris grows by the coverage of the readers, where it is installed
report, __main__: what was counted; ``python -m tests.hostile`` judges thousands and keeps it
"""
