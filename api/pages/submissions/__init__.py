"""Pages of submissions, for the team that made them.

submit: the upload form.
submissions: a team's entries with their final picks, and an entry with its results.
sections: the parts of an entry's page about rulings, evidence and the generator; the review page shows two of them.
"""
