"""Teams: who submits together, and how much a team may submit.

teams: creating, naming and leaving a team; the team of an account or submission
invitations: asking a person to join, or a team to merge
quotas: a team's limits a day and at once, and what it has used of them
storage: bytes that a team and a competition may have in the store
final_picks: the submissions by which a team wants to be ranked in the end
team_messages: what organizers write to a team
"""
