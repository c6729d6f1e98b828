"""Figures for papers: seeds brought together, with an interval that says how sure the curve is."""
