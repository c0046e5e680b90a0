"""Schemas of insights.

insights: imports, figures, the gallery, shared submissions
human_ratings: rating studies, their items and ratings
"""
