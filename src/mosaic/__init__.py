"""MOSAIC: configure, launch, watch, resume, evaluate and compare training runs."""

__version__ = "0.1.0"
