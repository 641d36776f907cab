"""The one place that has the version: the package data, the command and every header read it."""
__version__ = "0.1.0"
