"""Reading ONNX files that strangers upload: everything that is not expected is refused by name.

tensors: arrays stored in the file
graph: nodes and graphs once they have been checked
operators: the operators that are read, as functions of torch
parsing: from bytes to a graph
module: a graph as a torch module
shape_tracing: shapes and costs of everything a network computes, before anything is allocated
generator: from bytes to a generator, latents to images
encoder: from bytes to an encoder, images to latents
image_to_image: from bytes to an image-to-image network
"""
