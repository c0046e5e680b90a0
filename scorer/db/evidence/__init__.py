"""SQL for evidence of copying.

evidence: the newest evidence of an entry and its job
p_value_counts: how many p-values lie where, for false discovery rates
signs: which entries show which sign of copying
shared_images: hashed entries, their comparisons, and entries that share images
generators: generator uploads and what their audits found
code_attachments: code attached to entries
"""
