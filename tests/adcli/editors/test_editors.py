"""adcli editor: files that editors read, in the places that they look in."""
from __future__ import annotations

import json
import plistlib

from command import succeeds

from adcli.editors.command import grammar, syntax


def test_a_file_for_each_editor(tmp_path):
    assert json.loads(succeeds("editor", "textmate").out) == grammar()
    shown = plistlib.loads(succeeds("editor", "sublime").data)
    assert shown == {key: value for key, value in grammar().items() if not key.startswith("$")}
    path = tmp_path / "adcli.vim"
    assert succeeds("editor", "vim", "-o", path).out == ""
    assert path.read_text(encoding="utf-8") == syntax()


def test_the_extension_of_vs_code_is_whole(tmp_path):
    folder = tmp_path / "a b" / "adcli"
    (tmp_path / "a b").mkdir()
    assert succeeds("editor", "vscode", "-o", folder).out == ""
    manifest = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    gives = manifest["contributes"]
    assert {"name", "publisher", "version", "engines"} <= set(manifest) and len(manifest["version"].split(".")) == 3
    (language,), (colours,) = gives["languages"], gives["grammars"]
    assert language["extensions"] == [".ad"] and colours["language"] == language["id"]
    assert json.loads((folder / colours["path"]).read_text(encoding="utf-8")) == grammar()
    assert (folder / manifest["main"]).is_file()
    brackets = json.loads((folder / language["configuration"]).read_text(encoding="utf-8"))["brackets"]
    assert sorted("".join(a + b for a, b in brackets)) == sorted("()[]{}")
    (folder / "mine").write_text("stays", encoding="utf-8")
    succeeds("editor", "vscode", "-o", folder)
    assert (folder / "mine").exists()
