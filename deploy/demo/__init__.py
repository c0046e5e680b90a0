"""``kennel demo``: a whole competition on real photographs.

run: the demo from start to end.
plan: how many entries, images and reference images.
competition: the competition is created, and entries are generated and submitted.
scores: each score is printed as it arrives.
accounts: accounts with roles, created in the database.
entries: the entries: who submits what, and the expected outcome of each.
generators: honest generators and ways to memorise, as pure functions.
photographs: the reference set, from photographs in installed packages or in a folder.
tiles: square tiles cut from photographs.
evidence: the evidence of entries, compared with what is expected.
review: review and disqualification of the memoriser that the threshold misses.
report: everything that is printed at the end.
addresses: pages to open, with sign-in links.
"""
