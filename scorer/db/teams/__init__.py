"""SQL for teams.

merges: which team a submission belongs to after merges
members: members, invitations, names and used quotas
storage: bytes of zips and of uploads under way
team_lists: teams with their members, for organizers
"""
