"""Compiling in this process: refusals, threads, and kernels that end in any order."""
from __future__ import annotations

import contextlib
import gc
import platform
from concurrent.futures import ThreadPoolExecutor

import pytest
from adcli.codegen.machine import veclib
from adcli.codegen.machine.kernel import run
from adcli.codegen.rows import compiled, jit, llvm
from adcli.codegen.rows.compiled import Interpreted, compile_program
from adcli.lang.ir import Lit, Program, Result
from native_programs import everything, long_program
from row_tables import each_row


def test_no_inputs_and_no_rows() -> None:
    kernel = compile_program(Program((), (), (Result("r", Lit(3.0)),)))
    assert run(kernel, []) == [[3.0]]
    assert run(kernel, [], rows=11) == [[3.0] * 11]
    assert run(compile_program(everything()), [[]])[0] == []


@each_row(("equations", "columns", "level"), [
    (0, 0, 2), (3000, 0, 2), (3001, 0, 1), (2980, 1, 2), (2981, 1, 1), (0, 150, 2), (0, 151, 1), (20_000, 0, 1), (20_001, 0, 0),
    (0, 1001, 0)])
def test_effort_falls_with_length(equations: int, columns: int, level: int) -> None:
    assert llvm.Module("", llvm.EntryPoint("f", 1, 0, 2, 10**6, ()), equations, columns).level == level


def test_what_cannot_be_linked_says_what_is_missing() -> None:
    code = jit.object_code("define void @f() {\n ret void\n}")
    for name, externals, said in (("f", ("sin", "no_such", "nor_this"), "this machine has no no_such, nor_this"),
                                  ("g", (), "the object code has no g")):
        entry = llvm.EntryPoint(name, 1, 0, 0, 0, externals)
        with pytest.raises(jit.CodegenError) as found:
            jit.link(code, entry)
        assert str(found.value) == said
    with pytest.raises(jit.CodegenError, match=r"^LLVM: .*parsing error"):
        jit.verify("nonsense")


def test_llvm_links_what_our_loader_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = compile_program(everything(), 2)
    want = run(kernel, [[0.3, -0.7, 1.5]])

    def refused(*_: object) -> None:
        raise compiled.LoadError("not this one")
    monkeypatch.setattr(compiled, "load", refused)
    for level in (None, 0):
        assert repr(run(compile_program(everything(), 2, level=level), [[0.3, -0.7, 1.5]])) == repr(want)
    monkeypatch.setattr(jit, "allowed", lambda: False)
    assert isinstance(compile_program(everything(), 2), Interpreted)


@pytest.mark.usefixtures("made_well")
def test_code_is_for_the_processor_that_is_named() -> None:
    assert jit.baseline() == ("x86-64" if platform.machine() in ("x86_64", "AMD64") else "generic")
    text = llvm.emit(long_program(20), 4).text
    first, other = jit.assembly(text, jit.baseline()), jit.assembly(text, jit.baseline(), 0)
    assert first == jit.assembly(text, jit.baseline(), 2) != other
    codes = [jit.object_code(text, jit.baseline(), *level) for level in ((), (2,), (0,))]
    assert codes[0] == codes[1] != codes[2]
    if jit.baseline() == "x86-64":
        assert "ymm" not in first and "ymm" in jit.assembly(text, "haswell")


def test_the_vector_library_is_called_where_it_has_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which functions it has is the library's to say; the level is what is asked for."""
    asked, made = [], jit.object_code
    monkeypatch.setattr(jit, "object_code", lambda text, cpu=None, level=2: asked.append((text, level)) or made(text, cpu, level))
    program, lanes = everything(), veclib.lanes()
    compile_program(program, level=2)
    compile_program(program, 1, level=0)
    host = {s for s in llvm.emit(program, lanes, veclib.host()).entry.externals if s.startswith("_ZGV")}
    assert bool(host) == bool(veclib.host().symbol("sin", 1, lanes)) and all(s in asked[0][0] for s in host)
    assert [level for _, level in asked] == [2, 0]
    assert "_ZGV" not in asked[1][0] and f"<{lanes} x double>" not in asked[1][0]


def test_threads() -> None:
    programs = [long_program(1500, seed) for seed in range(4)]
    at = [[0.1 * k + 0.01 * i for i in range(50)] for k in range(5)]
    want = [run(compile_program(p), at) for p in programs]
    with ThreadPoolExecutor(4) as pool:
        kernels = list(pool.map(compile_program, programs))
        got = list(pool.map(lambda k: run(k, at), kernels * 3))
    assert repr(got) == repr(want * 3)


def test_kernels_may_end_in_any_order() -> None:
    """Engines in reference cycles are freed by the collector in an order of its own."""
    def cycle() -> None:
        kernel = compile_program(long_program(5))
        held: list[object] = [kernel]
        held.append(held)
        with contextlib.suppress(jit.CodegenError):
            jit.verify("nonsense")

    gc.freeze()   # what other tests have left is not looked through thirty times
    for _ in range(30):
        cycle()
        gc.collect()
