"""The counter of the source."""
from __future__ import annotations

import pathlib
import subprocess

from source_size import Size, size, sizes, sizes_of_revision

TEXT = '''"""What it is."""
# why
A = 1
"""What A is."""


def f(x):
    """Of x."""
    return (x +   # more
            "text")
'''


def test_comments_docstrings_and_layout_do_not_count(tmp_path: pathlib.Path) -> None:
    (tmp_path / "lang").mkdir()
    (tmp_path / "lang" / "f.py").write_text(TEXT)
    assert size(tmp_path / "lang" / "f.py") == Size(1, 4, 15)
    (tmp_path / "lang" / "g.py").write_text(TEXT.replace("(x +   # more\n            \"text\")", "(x + \"text\")"))
    assert size(tmp_path / "lang" / "g.py") == Size(1, 3, 15)
    assert sizes(tmp_path, ["lang", "adcli"]) == {"lang": Size(2, 7, 30), "adcli": Size(0, 0, 0)}


def test_the_change_since_a_revision_is_that_between_the_files(tmp_path: pathlib.Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True,
                       capture_output=True)
    (tmp_path / "lang").mkdir()
    (tmp_path / "lang" / "f.py").write_text(TEXT)
    for words in (("init",), ("add", "."), ("commit", "-m", "x")):
        git(*words)
    (tmp_path / "lang" / "f.py").write_text("A = 1\n")
    assert sizes_of_revision(tmp_path, "HEAD", ["lang"]) == {"lang": Size(1, 4, 15)}
    assert sizes(tmp_path, ["lang"]) == {"lang": Size(1, 1, 3)}
