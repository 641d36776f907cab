"""The programs in samples/, those of scalars and those with tensors."""
from __future__ import annotations

from adcli.lang.ir import has_tensors
from adcli.lang.lower.frontend import parse
from places import ROOT

SAMPLES = sorted((ROOT / "samples").glob("*.ad"))
TENSORS = [p for p in SAMPLES if has_tensors(parse(p.read_text(encoding="utf-8")))]
SCALARS = [p for p in SAMPLES if p not in TENSORS]
