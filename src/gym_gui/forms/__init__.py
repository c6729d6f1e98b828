"""The forms that submit runs."""
