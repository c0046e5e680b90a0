"""JSON routes of teams.

teams: founding, naming, invitations, leaving, limits
team_lists: teams as organizers see them, messages to them
final_picks: the entries that a team wants to be ranked by
"""
