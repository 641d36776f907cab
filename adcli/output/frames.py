"""polars, the `data` extra, as `pl`. ImportError where it is not installed or cannot be loaded."""
import os

try:
    import polars as pl
except RuntimeError:   # where memory cannot be made executable, it cannot ask the processor what it can
    os.environ.setdefault("POLARS_SKIP_CPU_CHECK", "1")
    import polars as pl
    os.environ.pop("POLARS_SKIP_CPU_CHECK")

try:
    pl.Series([0.0])
except NameError:   # where there is too little memory for its library, polars says so in a warning
    raise ImportError("polars cannot be loaded") from None

__all__ = ["pl"]
