"""Where commands are run: in a folder of the test's own."""
import pytest


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path
