"""Thousands of seeded hostile inputs. Each must be refused by name or accepted correctly.

- input: one hostile input and its required outcome
- pngs, zips, onnx_models: generators of inputs, which are sound files with some changes
- entries: ONNX files as entries of a competition, for the whole path from the upload to the board
- onnx_reading: the images of an ONNX file, from Kennel's reader and from onnx's reference evaluator
- judge: passes an input to the reader and checks the outcome
- batch: the confined process that judges many inputs and records memory, time and escapes
- run: starts such processes, and names an input that ends its process
- fuzz: coverage-guided inputs from atheris, if it is installed
- report, __main__: the counts; ``python -m tests.hostile`` judges thousands of inputs and writes the report
"""
