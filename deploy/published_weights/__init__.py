"""Published weight files turned into the files that extractors load. Run by an operator, outside the service.

frozen_graph: the constants of a frozen TensorFlow graph, read without TensorFlow
tensorflow_names: what the tensors of extractors are called in the graphs of the 2019 competition
installation: from a published file or its URL to the operator's folder
conversion: from a published file to an extractor's safetensors file
"""
