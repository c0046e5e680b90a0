"""JSON routes of teams.

teams: founding, naming, invitations, leaving, limits
final_picks: the entries that a team wants to be ranked by
"""
