"""SQL for teams.

merges: which team a submission belongs to after merges
members: members, invitations, names and used quotas
storage: bytes of zips and of uploads under way
"""
