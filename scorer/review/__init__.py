"""Review: which submissions need eyes, what reviewers and organizers decide, and the publication of the final board.

flags: reasons why a submission needs eyes, as a query for the submissions of a page
flag_sentences: what each reason says
flag_weights: the weights of all flagged submissions, over columns
flag_facts: equal contents, shared images and signs of copying of all submissions, kept by the web process
reviews: labels by two blind reviewers, decided labels, agreement
early_labels: guesses before any review
rulings: keep, disqualify or waive
ruling_impact: whose rank and prize another ruling would change
rebuttals: a team's one appeal, and its answer
claims: different reviewers are given different submissions first
review_queue: what a reviewer sees of one submission
failed_scores: failed private jobs of a competition, and restarting them
shared_images: whose images came first
checklist_point: one condition of the checklist
winning_entries: the conditions about entries that win something
checklist: what should hold before the final board is published
publication: publishing the final board as it was seen, and withdrawing it
zip_retention: which zips leave after the publication, and when
team_rulings: a ruling on all entries of a team
"""
