"""The OpenAPI document: what FastAPI derives from the routes, and what it cannot know.

operation_ids: short names of operations
files: request bodies and answers that are files
problem_responses: which errors an operation can answer with
security: how callers prove who they are
parameter_texts: what parameters that many operations share mean
route_dependencies: what a route depends on
document: the document as a whole
examples: an example of every JSON body
reference: the document in a form that a page can show
"""
