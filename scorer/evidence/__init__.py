"""Evidence of entries and its material: who may see what, images to show, uploads of code and generators.

images: single images out of the zips of entries and reference sets
closest_pairs: generated images beside the nearest reference images
shared_images: images that two entries share, side by side
examples: the example images that findings name, and sheets of them
records: recording of evidence when its job is done
visibility: who may see which evidence
code_uploads: the code behind an entry, for reviewers
notebooks: whether bytes are a notebook
generator_uploads: the generator behind an entry
generator_audits: the state and the result of a generator's audit
code_requests: asking a team for its code, by a deadline
"""
