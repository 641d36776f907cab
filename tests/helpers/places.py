"""Where the project and the data of the tests lie."""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
HELPERS = ROOT / "tests" / "helpers"
WORKED = ROOT / "samples" / "worked.ad"
