"""The compile cache: what is kept is used, changes nothing, and is believed only when every byte of it is in order."""
import errno
import hashlib
import importlib.util
import json
import os
import platform
import random
import shutil
import stat
import subprocess
import sys
import time
from importlib.metadata import version

import pytest
from adcli.codegen.machine import cache, veclib
from adcli.codegen.rows import compiled, jit
from adcli.lang.ir.errors import Source
from command import adcli, succeeds
from kills import broken, kill_at_random
from llvmlite import binding
from places import ROOT
from side_by_side import in_threads

from adcli.task import tasks
from adcli.task.request import Request

NAME, OTHER = "ab" * 32, "cd" * 32
RUN = ("grad", "-e", "v = x*sin(y)", "--at", "x=2,y=5")
PACKAGES = [sys.modules[name] for name in ("adcli", "adcli.lang", "adcli.codegen")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache of the test's own."""
    found = tmp_path / "cache" / "adcli"
    monkeypatch.setenv("ADCLI_CACHE_DIR", str(found))
    return found


@pytest.fixture
def store(folder):
    warnings = []
    store = cache.Store(str(folder), warnings.append)
    store.warnings = warnings
    return store


@pytest.fixture(autouse=True)
def remembered(monkeypatch):
    """The digest of our own files, which takes an entry of its own, as it would be remembered; here it is taken each time."""
    original = cache.remembered_content
    monkeypatch.setattr(cache, "remembered_content", lambda: cache.own_content())

    def again():
        original.cache_clear()
        return original()
    yield again
    original.cache_clear()


@pytest.fixture
def own_content():
    """The digest of our own files, which is asked once a process, asked anew."""
    def again():
        cache.own_content.cache_clear()
        return cache.own_content()
    yield again
    cache.own_content.cache_clear()


@pytest.fixture
def compiles(monkeypatch):
    """How often something has been compiled."""
    count, original = [], jit.object_code
    monkeypatch.setattr(jit, "object_code", lambda *args, **kwargs: (count.append(1), original(*args, **kwargs))[1])
    return count


def raising(fault):
    def call(*args, **kwargs):
        raise fault
    return call


def files(folder):
    return sorted(folder.iterdir()) if folder.exists() else []


# ---------------------------------------------------------------- runs

def test_the_second_run_compiles_nothing_and_says_the_same(folder, compiles):
    first = succeeds(*RUN)
    assert len(compiles) == 1
    assert succeeds(*RUN) == first
    assert len(compiles) == 1
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(p.stat().st_mode) for p in files(folder)] == [0o600]
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("words", [("solve", "-e", "x**2 - a", "--wrt", "x"), ("minimize", "-e", "(x - a)**2", "--wrt", "x")])
def test_solvers_compile_nothing_twice(folder, compiles, words):
    first = succeeds(*words, "--at", "x=1,a=4")
    assert compiles
    del compiles[:]
    assert succeeds(*words, "--at", "x=1,a=4") == first
    assert not compiles


def test_no_cache_neither_reads_nor_writes(folder, compiles):
    succeeds(*RUN, "--no-cache")
    assert not folder.exists()
    succeeds(*RUN)
    before = [(p, p.read_bytes(), p.stat().st_mtime_ns) for p in files(folder)]
    succeeds(*RUN, "--no-cache")
    assert len(compiles) == 3
    assert [(p, p.read_bytes(), p.stat().st_mtime_ns) for p in files(folder)] == before


@pytest.mark.parametrize("args", [
    ("eval", "-e", "v = x + y", "--at", "x=1,y=2"),
    ("eval", "-e", "3", "--format", "json"),
    ("grad", "-e", "input x = 2 in [0, 1], y = -0.5\nv = abs(x*y)\nw = x", "--status", "--hex", "--at", "y=0.1"),
    ("grad", "-e", "v = log(x)", "--at", "x=0:1:5", "--format", "csv"),
    ("grad", "-e", "v = sqrt(x)", "--at", "x=0"),
    ("grad", "-e", "v = x**3*y", "--at", "x=2,y=3", "--order", "3", "--wrt", "x", "--format", "json"),
    ("grad", "-e", "param a = nan\ninput x = 1e-310\nv = x*a\nw = 2*x", "--of", "w"),
    ("jvp", "-e", "v = x*y", "--at", "x=2,y=3", "--tangent", "x=1", "--format", "json"),
    ("vjp", "-e", "v = x*y; w = x/y", "--at", "x=2,y=0", "--cotangent", "w=0,v=2", "--format", "json"),
    ("vjp", "-e", "v = x*y", "--at", "x=2,y=3"),
    ("eval", "-e", "v = x", "--at", "z=1"),
    ("jvp", "-e", "v = x*y", "--at", "x=2,y=3", "--tangent", "z=1"),
    ("jvp", "-e", "v = x*y", "--at", "x=2,y=3"),
    ("grad", "-e", "v = x*y", "--strict", "--at", "x=inf,y=0"),
])
def test_kept_and_fresh_runs_print_the_same_bytes(folder, args):
    fresh = adcli(*args, "--no-cache")
    assert adcli(*args) == fresh
    kept = files(folder)   # functions of vectors too, where no test before has made them
    assert adcli(*args) == fresh
    assert files(folder) == kept and (len(kept) > 0) == (fresh.code in (0, 4))


WATCH = ("import sys; from adcli.main import run; code = run(sys.argv[1:]);"
         "heavy = {'lark', 'numpy', 'llvmlite', 'adcli.lang.ir.primitives', 'adcli.lang.syntax.parse', 'adcli.codegen.rows.jit',"
         " 'difflib', 'fractions', 'hashlib'};"
         "print(sorted(heavy & set(sys.modules)), code, file=sys.stderr)")


def test_a_warm_run_imports_nothing_heavy(folder, tmp_path):
    program = tmp_path / "f.ad"
    program.write_text("v = x*sin(y)\n")
    said = [subprocess.run([sys.executable, "-c", WATCH, "grad", program, "--at", "x=2,y=5"], cwd=ROOT, capture_output=True,
                           text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False) for _ in range(2)]
    assert said[0].stdout == said[1].stdout
    assert "'llvmlite'" in said[0].stderr and "'lark'" not in said[0].stderr and "'numpy'" not in said[0].stderr
    assert said[1].stderr == "[] 0\n"


# ---------------------------------------------------------------- keys

def test_every_ingredient_changes_the_key(monkeypatch):
    request = Request("grad", Source("f.ad", "v = x\n"), ["v"], ["x"], "auto", 1)
    variants = [request._replace(**change) for change in (
        {}, {"verb": "jvp"}, {"source": Source("f.ad", "v = x \n")}, {"source": Source("g.ad", "v = x\n")}, {"of": None},
        {"of": ["v", "w"]}, {"wrt": None}, {"wrt": ["y"]}, {"mode": "forward"}, {"order": 2}, {"fast": True})]
    keys = [variant.key() for variant in variants]
    assert request.key() == keys[0]
    changes = [(cache, "SCHEMA", 2), (veclib, "processor", lambda: "another"), (cache, "c_library", lambda: "glibc 1"),
               (cache, "llvm_files", lambda: "another"), (cache, "own_content", lambda: "another")]
    for where, name, value in changes:
        with monkeypatch.context() as context:
            context.setattr(where, name, value)
            keys.append(request.key())
    assert len(set(keys)) == len(variants) + len(changes)


def test_parts_are_not_run_together():
    assert cache.key(["ab", "c"]) != cache.key(["a", "bc"]) != cache.key(["abc"])
    assert cache.key(["\udc80"]) != cache.key(["\udc81"])


@pytest.mark.parametrize("lean", [cache.LEAN_HASHES, "no_such_module"])
def test_every_hash_is_sha_256(monkeypatch, lean):
    monkeypatch.setattr(cache, "LEAN_HASHES", lean)
    for length in (0, 1, 1000, cache.LONG_DATA - 1, cache.LONG_DATA):
        data = random.Random(length).randbytes(length)
        assert cache.sha256(data) == cache.sha256(memoryview(data)) == hashlib.sha256(data).digest()


def test_content_counts_where_size_and_time_are_equal(tmp_path, monkeypatch, own_content):
    """Some installers give all files one time: two versions of a rule differ in nothing but what they say."""
    monkeypatch.setattr(cache, "own_folders", lambda: [str(tmp_path)])
    file, digests = tmp_path / "rules.py", []
    for text, stamp in (("tan = 1", 1), ("tan = 2", 1), ("tan = 1", 2)):
        file.write_text(text)
        os.utime(file, ns=(stamp, stamp))
        digests.append(own_content())
    assert digests[0] == digests[2] != digests[1]


def test_content_is_remembered_until_a_file_changes(tmp_path, monkeypatch, own_content, remembered):
    monkeypatch.setattr(cache, "own_folders", lambda: [str(tmp_path / "rules")])
    monkeypatch.setenv("ADCLI_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "rules").mkdir()
    file = tmp_path / "rules" / "rules.py"
    file.write_text("tan = 1")

    before = own_content()
    assert remembered() == before
    assert not list(tmp_path.glob("cache/*")), "a file that has just changed may change again unseen"
    monkeypatch.setattr(cache, "SETTLED", -10**9)
    assert remembered() == before
    with monkeypatch.context() as patch:
        patch.setattr(cache, "own_content", lambda: "read again")
        assert remembered() == before
    stamp = file.stat().st_mtime_ns
    file.write_text("tan = 2")
    os.utime(file, ns=(stamp, stamp))
    cache.own_content.cache_clear()
    assert remembered() == own_content() != before


LAYOUTS = {"checkout": ("adcli", "lang", "codegen"), "installed": ("adcli", "adcli/lang", "adcli/codegen")}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_file_deep_in_a_room_counts_and_what_python_compiles_does_not(tmp_path, monkeypatch, own_content, layout):
    rooms = []
    for package, folder in zip(PACKAGES, LAYOUTS[layout], strict=True):
        rooms.append(tmp_path / folder / ("task" if folder == "adcli" else "room") / "inner")
        (rooms[-1] / "__pycache__").mkdir(parents=True)
        (rooms[-1] / "rules.py").write_text("1")
        monkeypatch.setattr(package, "__path__", [str(tmp_path / folder)])
    for room in rooms:
        before = own_content()
        (room / "__pycache__" / "rules.pyc").write_bytes(b"code")
        assert own_content() == before
        (room / "rules.py").write_text("12")
        edited = own_content()
        assert edited != before
        (room / "new.py").write_text("")
        assert own_content() not in (before, edited)


def test_an_edited_rule_is_not_answered_from_the_cache(folder, tmp_path):
    """The whole package, as it is installed."""
    whole = tmp_path / "installed" / "adcli"
    for name, place in (("adcli", whole), ("lang", whole / "lang"), ("codegen", whole / "codegen")):
        shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))
    env = {**os.environ, "PYTHONPATH": str(whole.parent)}

    def entries() -> int:
        subprocess.run([sys.executable, "-m", "adcli", *RUN], cwd=tmp_path, env=env, check=True, capture_output=True)
        return sum(file.stat().st_size > 1000 for file in files(folder))   # without the digest of files that stay as they are
    assert (entries(), entries()) == (1, 1)
    rule = whole / "lang" / "ir" / "primitives.py"
    before, text = rule.stat(), rule.read_text()
    rule.write_text(text.replace("A row is", "A row IS", 1))
    os.utime(rule, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert rule.stat().st_size == before.st_size and entries() == 2


MAKING = """
import sys
from adcli.lang.ir.errors import Source
from adcli.task.request import Request
from adcli.task.tasks import made
for verb in ("grad", "taylor", "hessian", "propagate"):
    made(Request(verb, Source("f.ad", "v = sin(x)*y"), None, None, "auto", 2), None).kernel
rooms = ("adcli.lang.", "adcli.codegen.", "adcli.task.")
print(*(m.__file__ for name, m in sys.modules.items() if name.startswith(rooms) and m.__file__))
"""


def test_the_files_of_this_package_and_of_llvm_count(monkeypatch):
    found = [path for folder in cache.own_folders() for path in cache.paths(folder)]
    for name in ("/grammar.lark", "/elementary.ad"):
        assert any(path.endswith(name) for path in found)
    modules = subprocess.run([sys.executable, "-c", MAKING], capture_output=True, text=True, cwd=ROOT, check=True).stdout.split()
    assert len(modules) > 60 and set(modules) <= set(found), "what takes part in making an entry is in its key"
    said = "".join(cache.surroundings())
    for name in ("llvmlite", "/ffi.py", "/_version.py", version("llvmlite"), os.uname().machine, " ".join(platform.libc_ver())):
        assert name in said
    assert veclib.processor() in said
    monkeypatch.setattr(veclib, "processor", lambda: "")
    assert binding.get_host_cpu_name() in "".join(cache.surroundings())


def test_every_file_of_llvm_counts_by_its_name_size_and_time(tmp_path, monkeypatch):
    """They are too large to be read each time; their version is read."""
    monkeypatch.setattr(cache, "find_spec", lambda name: importlib.util.spec_from_file_location(name, tmp_path / "__init__.py"))
    (tmp_path / "binding").mkdir()
    named, library, said = tmp_path / "_version.py", tmp_path / "binding" / "libllvm.so", []
    for path, text, stamp in ((named, b"1 \xe9", 1), (library, b"code", 1), (library, b"code", 2), (library, b"more code", 2),
                              (named, b"2 \xe9", 1), (library.with_suffix(".2"), b"", 1)):
        path.write_bytes(text)
        os.utime(path, ns=(stamp, stamp))
        said.append(cache.llvm_files())
    assert len(set(said)) == len(said) and all(str(tmp_path) in text for text in said)


def test_what_cannot_be_found_is_left_out_of_the_key(monkeypatch, own_content):
    """A Python without BLAKE2 of its own, a system that names no C library, no llvmlite, or one that finds no processor."""
    before, original = own_content(), cache.import_module
    monkeypatch.setattr(cache, "import_module", lambda name: original("no_such_module" if name.startswith("_") else name))
    assert own_content() == before
    monkeypatch.setattr(cache, "find_spec", lambda name: None)
    monkeypatch.setattr(veclib, "processor", lambda: "")
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    for fault in (AttributeError, ValueError, OSError):
        monkeypatch.setattr(os, "confstr", raising(fault()))
        assert cache.surroundings() == [before, "unknown", platform.machine(), "", ""]
    monkeypatch.delattr(os, "uname")
    assert cache.surroundings()[2] == ""


def test_a_file_s_name_counts_even_where_it_is_no_text(tmp_path, monkeypatch, own_content):
    monkeypatch.setattr(cache, "own_folders", lambda: [str(tmp_path)])
    digests = set()
    for name in (b"\xff.py", b"\xfe.py"):
        path = os.fsencode(tmp_path) + b"/" + name
        with open(path, "wb"):
            digests.add(own_content())
        os.unlink(path)
    assert len(digests) == 2


# ---------------------------------------------------------------- what is not believed

def test_every_changed_byte_is_noticed(store, folder):
    store.put(NAME, b"some content")
    [file] = files(folder)
    good = file.read_bytes()
    assert store.get(NAME) == b"some content"
    for i in range(len(good)):
        file.write_bytes(good[:i] + bytes([good[i] ^ 1 << i % 8]) + good[i + 1:])
        assert store.get(NAME) is None
    for i in range(len(good)):
        file.write_bytes(good[:i])
        assert store.get(NAME) is None
    file.write_bytes(good + b"\0")
    assert store.get(NAME) is None
    file.write_bytes(good)
    assert store.get(NAME) == b"some content" and store.warnings == []


def test_an_entry_under_another_name_is_none(store, folder):
    store.put(NAME, b"content")
    os.rename(folder / (NAME + cache.SUFFIX), folder / (OTHER + cache.SUFFIX))
    assert store.get(OTHER) is None


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "text"])
def test_a_corrupt_entry_is_rebuilt_in_silence(folder, compiles, damage):
    first = succeeds(*RUN)
    [file] = files(folder)
    good = file.read_bytes()
    middle = len(good) // 2
    file.write_bytes({"cut": good[:middle], "flip": good[:middle] + bytes([good[middle] ^ 255]) + good[middle + 1:],
                      "empty": b"", "text": b"v = x*y\n" * 100}[damage])
    assert succeeds(*RUN) == first
    assert len(compiles) == 2 and file.read_bytes()[:40] == good[:40] and not broken(folder)
    assert succeeds(*RUN) == first and len(compiles) == 2


def test_code_that_cannot_be_loaded_here_is_compiled_anew(folder, compiles, monkeypatch):
    first = succeeds(*RUN)
    with monkeypatch.context() as context:
        context.setattr(tasks, "kept", lambda code, entry: None)
        assert succeeds(*RUN) == first
    assert len(compiles) == 2


@pytest.mark.parametrize("kind", ["folder", "full folder", "pipe", "zeros", "loop", "unreadable", "huge"])
def test_what_is_no_file_of_ours_is_no_entry(folder, compiles, kind):
    first, file = succeeds(*RUN), None
    [file] = files(folder)
    good = file.read_bytes()
    file.unlink()
    if kind in ("folder", "full folder"):
        (file / "more" if kind == "full folder" else file).mkdir(parents=True)
    elif kind == "pipe":
        os.mkfifo(file)
    elif kind in ("zeros", "loop"):
        file.symlink_to("/dev/zero" if kind == "zeros" else file)
    else:
        file.write_bytes(good)
        os.chmod(file, 0o600 if kind == "huge" else 0)
        os.truncate(file, 1 << 40 if kind == "huge" else len(good))
    ended = adcli(*RUN)
    assert (ended.code, ended.out) == (0, first.out)
    assert ended.err.count("\n") == (kind in ("pipe", "zeros", "loop"))
    assert (adcli(*RUN).err == "") and (not file.is_file() or file.read_bytes()[:len(cache.MAGIC)] == cache.MAGIC)


def test_without_the_loader_llvm_links(folder, monkeypatch):
    def never(code, entry):
        raise compiled.LoadError("another machine")
    monkeypatch.setattr(compiled, "load", never)
    first = succeeds(*RUN)
    assert succeeds(*RUN) == first and succeeds(*RUN, "--no-cache") == first


def make_entry(folder):
    succeeds(*RUN)
    [file] = files(folder)
    return file


@pytest.mark.parametrize(("mode", "trusted"), [(0o700, True), (0o750, True), (0o755, True), (0o770, False), (0o702, False)])
def test_a_folder_that_others_may_write_to(folder, compiles, mode, trusted):
    make_entry(folder)
    folder.chmod(mode)
    ended = adcli(*RUN)
    assert (ended.code, len(compiles)) == (0, 1 if trusted else 2)
    warning = "" if trusted else f"adcli: warning: the cache {folder} is writable by others: not used\n"
    assert ended.err == warning


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_an_entry_that_others_may_write_to(folder, compiles, mode):
    file = make_entry(folder)
    file.chmod(mode)
    ended = adcli(*RUN)
    assert (ended.code, len(compiles)) == (0, 2)
    assert ended.err == f"adcli: warning: the cache entry {file.name} is writable by others: not used\n"
    assert succeeds(*RUN).code == 0 and len(compiles) == 2, "the entry has been replaced by one of our own"


def test_somebody_elses_folder(folder, compiles, monkeypatch):
    make_entry(folder)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    ended = adcli(*RUN)
    assert (ended.code, ended.err) == (0, f"adcli: warning: the cache {folder} belongs to another user: not used\n")
    assert len(compiles) == 2 and len(files(folder)) == 1


def test_no_folder_is_made_at_somebody_elses(folder, compiles, monkeypatch):
    """As with sudo, which keeps HOME: a folder of root's in there would stand in the way of its owner ever after."""
    folder.parents[1].mkdir(exist_ok=True)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    monkeypatch.setattr(os, "stat", lambda path, look=os.stat, **options: owned(look(path, **options), os.getuid() + 2))
    succeeds(*RUN)
    assert not folder.parent.exists()


def owned(found, user):
    """The same, of another owner."""
    return os.stat_result([*found[:4], user, *found[5:10]])


def test_somebody_elses_entry(store, folder, monkeypatch):
    store.put(NAME, b"content")
    original = cache.trust

    def trust(found, what):
        monkeypatch.setattr(os, "geteuid", lambda: found.st_uid + ("cache entry" in what))
        original(found, what)
    monkeypatch.setattr(cache, "trust", trust)
    assert store.get(NAME) is None
    assert store.warnings == [f"the cache entry {NAME}{cache.SUFFIX} belongs to another user: not used"]


def test_a_folder_that_is_a_link(folder, tmp_path, compiles):
    real = tmp_path / "elsewhere"
    real.mkdir(0o700)
    folder.parent.mkdir()
    folder.symlink_to(real)
    ended = adcli(*RUN)
    assert (ended.code, ended.err) == (0, f"adcli: warning: the cache {folder} is a symbolic link: not used\n")
    assert files(real) == []


def test_an_entry_that_is_a_link(store, folder, tmp_path):
    store.put(NAME, b"content")
    file = folder / (NAME + cache.SUFFIX)
    os.rename(file, tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert store.get(NAME) is None and "symbolic link" in store.warnings[0]
    store.put(NAME, b"new")
    assert store.get(NAME) == b"new" and not file.is_symlink()
    assert (tmp_path / "elsewhere").read_bytes().endswith(b"content")


def test_an_entry_that_is_no_file(store, folder):
    folder.mkdir(parents=True, mode=0o700)
    os.mkfifo(folder / (NAME + cache.SUFFIX), 0o600)
    assert store.get(NAME) is None
    assert "is not a file" in store.warnings[0]
    os.mkdir(folder / (OTHER + cache.SUFFIX), 0o700)
    assert store.get(OTHER) is None


@pytest.mark.parametrize("what", ["folder", "entry"])
def test_a_link_that_comes_between_looking_and_opening(store, folder, tmp_path, monkeypatch, what):
    """What is opened follows no link either."""
    store.put(NAME, b"content")
    path = folder if what == "folder" else folder / (NAME + cache.SUFFIX)
    found = {"lstat": os.lstat(path), "stat": os.stat(path)}
    os.rename(path, tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with monkeypatch.context() as context:
        for name, status in found.items():
            context.setattr(os, name, lambda *args, _status=status, **kwargs: _status)
        assert store.get(NAME) is None
        if what == "folder":
            store.put(OTHER, b"content")
    assert [p.name for p in files(tmp_path / "elsewhere")] == [NAME + cache.SUFFIX] if what == "folder" else True


def test_a_file_that_is_there_is_never_written_to(store, folder, tmp_path, monkeypatch):
    """Whoever guesses the name of a temporary file."""
    monkeypatch.setattr(os, "urandom", bytes)
    folder.mkdir(parents=True, mode=0o700)
    guessed, mine = folder / f"{NAME}-{'0' * 16}{cache.TEMPORARY}", tmp_path / "mine"
    for make in (lambda: guessed.write_bytes(b"mine"), lambda: guessed.symlink_to(mine)):
        mine.write_bytes(b"mine")
        make()
        store.put(NAME, b"content")
        assert guessed.read_bytes() == b"mine" and store.get(NAME) is None
        guessed.unlink()


def test_a_temporary_file_is_known_for_ours(store, folder, monkeypatch):
    """What a killed run leaves behind has a name that is removed later."""
    with monkeypatch.context() as context:
        for call in ("rename", "unlink"):
            context.setattr(os, call, raising(OSError(errno.EIO, "killed")))
        store.put(NAME, b"content")
    [left] = files(folder)
    assert cache.OURS.fullmatch(left.name) and left.suffix == cache.TEMPORARY and store.clear() == 0 and files(folder) == []


def test_one_warning_is_enough(store, folder):
    store.put(NAME, b"content")
    folder.chmod(0o777)
    for _ in range(3):
        store.get(NAME)
        store.put(NAME, b"content")
    assert len(store.warnings) == 1


def test_no_file_stays_open(store, folder):
    def held():
        return len(os.listdir("/proc/self/fd"))
    store.put(NAME, b"content")
    before = held()
    for mode in (0o700, 0o777):
        folder.chmod(mode)
        for name in (NAME, OTHER, "no name"):
            store.get(name)
            store.put(name if name != "no name" else NAME, bytes(100))
        store.info()
    assert held() == before


def test_a_system_without_users_has_no_cache(folder, monkeypatch):
    monkeypatch.delattr(os, "geteuid")
    store = cache.Store(str(folder), pytest.fail)
    store.put(NAME, b"content")
    assert store.get(NAME) is None and store.info() == cache.Info(None, 0, 0, None) and store.clear() == 0
    assert not folder.exists()


# ---------------------------------------------------------------- disks that refuse

@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EACCES])
@pytest.mark.parametrize("call", ["mkdir", "open", "rename", "scandir"])
def test_a_disk_that_refuses_only_disables_the_cache(folder, monkeypatch, call, fault):
    folder.mkdir(parents=True, mode=0o700)

    def refuse(*args, **kwargs):
        raise OSError(fault, os.strerror(fault))
    with monkeypatch.context() as context:
        context.setattr(os, call, refuse)
        assert succeeds(*RUN).out.startswith("v = ")
    assert {p.suffix for p in files(folder)} <= {cache.SUFFIX} and not broken(folder)


def test_a_full_disk(folder, monkeypatch):
    """The file can be made, and then takes no byte."""
    folder.mkdir(parents=True, mode=0o700)
    original = os.open

    def full(path, flags, *args, **kwargs):
        handle = original(path, flags, *args, **kwargs)
        if flags & os.O_CREAT:
            os.close(handle)
            return original("/dev/full", os.O_WRONLY)
        return handle
    with monkeypatch.context() as context:
        context.setattr(os, "open", full)
        assert succeeds(*RUN).out.startswith("v = ")
    assert files(folder) == []


def test_what_is_not_used_has_no_entries_and_a_reason(store, folder, monkeypatch):
    where = str(folder)
    assert store.info() == cache.Info(where, 0, 0, None)
    store.put(NAME, b"content")
    assert store.info() == cache.Info(where, 1, files(folder)[0].stat().st_size, None)
    folder.chmod(0o777)
    assert store.info() == cache.Info(where, 0, 0, f"the cache {where} is writable by others")
    for fault, said in ((OSError(errno.EIO, "Input/output error"), "Input/output error"), (OSError("odd"), "odd")):
        monkeypatch.setattr(os, "open", raising(fault))
        assert store.info() == cache.Info(where, 0, 0, said)


def test_a_folder_that_cannot_be_made(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file" / "adcli", tmp_path / "file", "/proc/adcli", "relative"):
        monkeypatch.setenv("ADCLI_CACHE_DIR", str(folder))
        succeeds(*RUN)


@pytest.mark.parametrize(("env", "where"), [
    ({"ADCLI_CACHE_DIR": "/a"}, "/a"), ({"XDG_CACHE_HOME": "/x"}, "/x/adcli"), ({"HOME": "/h"}, "/h/.cache/adcli"),
    ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/adcli"), ({"HOME": "relative"}, None), ({"HOME": ""}, None),
    ({"ADCLI_CACHE_DIR": "relative", "HOME": "/h"}, None),
])
def test_where_it_lies(monkeypatch, env, where):
    for name in ("ADCLI_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert cache.location() == where
    if where is None:
        succeeds(*RUN)


# ---------------------------------------------------------------- size

def test_the_longest_unused_go_first(store, folder, monkeypatch):
    monkeypatch.setattr(cache, "BYTES_KEPT", 80_000)
    monkeypatch.setattr(cache, "LARGEST_ENTRY", 10_000)
    names = [f"{i:064x}" for i in range(30)]
    for i, name in enumerate(names):
        store.put(name, bytes(4000))
        os.utime(folder / (name + cache.SUFFIX), (1e9 + i, 1e9 + i))
        if i == 15:
            assert store.get(names[0]) is not None   # a use
    info = store.info()
    assert 40_000 < info.size <= 80_000 and info.entries == len(files(folder))
    assert store.get(names[0]) is not None and store.get(names[29]) is not None and store.get(names[1]) is None
    store.put(names[1], bytes(10_001))
    assert store.get(names[1]) is None, "one entry may not take everything"


@pytest.mark.parametrize("seed", range(20))
def test_what_is_kept_is_what_the_rule_says(store, folder, monkeypatch, seed):
    """Beyond a bound, of bytes or of entries, the longest unused go until three quarters of both are left."""
    chance = random.Random(seed)
    sizes = {f"{i:064x}": chance.choice((10, 20, 40)) for i in range(chance.randint(0, 16))}
    folder.mkdir(parents=True, mode=0o700)
    for age, name in enumerate(order := chance.sample(sorted(sizes), len(sizes))):
        (folder / (name + cache.SUFFIX)).write_bytes(bytes(sizes[name]))
        os.utime(folder / (name + cache.SUFFIX), (1e9 + age, 1e9 + age))
    most_bytes, most = max(0, sum(sizes.values()) + 10 * chance.randint(-3, 1)), max(0, len(sizes) + chance.randint(-3, 1))
    monkeypatch.setattr(cache, "BYTES_KEPT", most_bytes)
    monkeypatch.setattr(cache, "ENTRIES_KEPT", most)
    if sum(sizes.values()) > most_bytes or len(sizes) > most:
        while sum(sizes[name] for name in order) > most_bytes * 3 // 4 or len(order) > most * 3 // 4:
            del order[0]
    with store.opened() as opened:
        cache.prune(opened)
    assert [p.stem for p in files(folder)] == sorted(order)


@pytest.mark.parametrize(("age", "noted"), [(1800, False), (4000, True), (-1800, False)])
def test_a_use_is_noted_once_an_hour(store, folder, age, noted):
    store.put(NAME, b"content")
    [file] = files(folder)
    os.utime(file, (time.time() - age,) * 2)
    before = file.stat().st_mtime
    assert store.get(NAME) == b"content"
    assert (file.stat().st_mtime != before) is noted and abs(time.time() - file.stat().st_mtime) < (60 if noted else 1900)


def test_an_entry_takes_an_eighth_at_most(store, monkeypatch):
    assert 8 * cache.LARGEST_ENTRY == cache.BYTES_KEPT
    monkeypatch.setattr(cache, "LARGEST_ENTRY", 1000)
    for size, kept in ((1000, True), (1001, False)):
        store.clear()
        store.put(NAME, bytes(size))
        assert (store.get(NAME) is not None) is kept


def test_a_link_under_a_name_of_ours_is_removed_with_the_rest(store, folder):
    store.put(NAME, b"content")
    (folder / (OTHER + cache.SUFFIX)).symlink_to("nowhere")
    assert store.clear() == 2 and files(folder) == []


def test_what_killed_runs_left_goes_after_an_hour(store, folder):
    store.put(NAME, b"x")
    old, new, *foreign = (folder / name for name in (
        f"{NAME}-{'0' * 16}.part", f"{NAME}-{'1' * 16}.part", "film.part", "notes.adc", f"{NAME}.txt", f"{NAME}-0.part"))
    for file in (old, new, *foreign):
        file.write_bytes(b"half")
    for file in (old, *foreign):
        os.utime(file, (time.time() - cache.STALE - 10,) * 2)
    store.put(OTHER, b"x")
    assert (old.exists(), new.exists()) == (False, True)
    assert store.info().entries == 2 and store.clear() == 2 and not new.exists()
    assert all(file.exists() for file in foreign)


# ---------------------------------------------------------------- many at once, and sudden ends

def test_threads_that_write_and_read_the_same_entries(store, folder):
    names, wrong = [f"{i:064x}" for i in range(5)], []

    def work(seed):
        chance = random.Random(seed)
        own = cache.Store(str(folder), wrong.append)
        for _ in range(60):
            name = chance.choice(names)
            own.put(name, name.encode() * 200)
            if (data := own.get(name)) not in (None, name.encode() * 200):
                wrong.append(data)
    in_threads(work, 8)
    assert wrong == [] and [store.get(n) for n in names] == [n.encode() * 200 for n in names]
    assert len(files(folder)) == len(names)


def test_processes_that_share_a_cold_cache(folder):
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    runs = [subprocess.Popen([sys.executable, "-m", "adcli", *RUN], env=env, cwd=ROOT, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True) for _ in range(6)]
    ended = {(*run.communicate(), run.returncode) for run in runs}
    assert ended == {(succeeds(*RUN, "--no-cache").out, "", 0)}
    assert len(files(folder)) <= 2 and not broken(folder)   # the run, and the digest of our own files


@pytest.mark.no_cover
def test_killed_at_random_moments(tmp_path):
    killed, _ = kill_at_random(6, tmp_path / "killed")
    assert killed > 0


def test_an_interrupted_write_leaves_nothing(store, folder, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt
    monkeypatch.setattr(cache.os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.put(NAME, b"content")
    assert files(folder) == []


# ---------------------------------------------------------------- the verb

def test_info_and_clear(folder):
    assert succeeds("cache").out == f"folder: {folder}\nentries: 0\nsize: 0 of {cache.BYTES_KEPT} bytes\n"
    succeeds(*RUN)
    succeeds("eval", "-e", "v = 2")
    size = sum(p.stat().st_size for p in files(folder))
    assert succeeds("cache", "info").out == f"folder: {folder}\nentries: 2\nsize: {size} of {cache.BYTES_KEPT} bytes\n"
    (folder / "mine.txt").write_text("kept")
    assert succeeds("cache", "clear").out == "removed 2 entries\n"
    assert [p.name for p in files(folder)] == ["mine.txt"]
    assert succeeds("cache", "clear").out == "removed 0 entries\n"


def test_info_and_clear_of_a_folder_that_is_not_used(folder):
    make_entry(folder)
    folder.chmod(0o777)
    assert succeeds("cache", "info").out.endswith(f"not used: the cache {folder} is writable by others\n")
    ended = adcli("cache", "clear")
    assert (ended.code, len(files(folder))) == (2, 1) and "is writable by others" in ended.err


def test_an_entry_holds_no_more_than_an_evaluation_needs(folder):
    """A line of JSON and an object file; nothing that is carried out by being read."""
    file = make_entry(folder)
    data = cache.content(file.read_bytes(), file.name.removesuffix(cache.SUFFIX))
    head, _, code = data.partition(b"\n")
    assert set(json.loads(head)) == {"entry", "counts", "wrt", "inputs", "outputs", "results", "notes"}
    assert code.startswith(b"\x7fELF") or sys.platform != "linux"
