"""SQL for evidence of copying.

evidence: the newest evidence of an entry and its job
signs: which entries show which sign of copying
shared_images: hashed entries, their comparisons, and entries that share images
generators: generator uploads and what their audits found
code_attachments: code attached to entries
"""
