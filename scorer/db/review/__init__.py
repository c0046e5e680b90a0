"""SQL for reviews and rulings.

reviews: reviews, decided labels and early labels of an entry
rulings: rulings, rebuttals and their answers
flag_query: the parameters and results of the flags' query, as plain data
flags: which entries are flagged for review, and why
contents: hashes of what zips contain, as columns
publication: entries that stand between a competition and its publication
zip_removal: which zips of a finished competition no decision rests on, and their removal
claims: which reviewer was given which submission
"""
