"""Writing nested loops in LLVM IR, with every value in the outermost loop that knows its operands.

A `Frame` is the body of a loop (or of a condition, or a whole function). Lines can be added to the beginning of every frame
that is open, so that what is found to be needed in the innermost loop is computed where it changes least: nothing has to be
moved by LLVM afterwards. Integer expressions, addresses and elements are remembered in the frame they are computed in.
"""
from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from adcli.lang.ir.affine import Affine, AffineAtom, Extreme, Floor, Index, Modulo, Product

Placed = tuple[str, int]
"""How a value is written, and the number of the frame that computes it; 0 is the function."""


@dataclass(slots=True)
class Frame:
    """An open loop: its beginning, where lines can still be added, and what it knows."""

    label: str
    before: str
    exit: str
    index: str = ""
    step: int | str = 0
    last: str = ""
    carried: list[tuple[str, str, str]] = field(default_factory=list)
    phis: list[str] = field(default_factory=list)
    kept: list[tuple[str, str, str, str]] = field(default_factory=list)
    """Type, first value, name and following value of what goes from turn to turn and not out of the loop."""
    head: list[str] = field(default_factory=list)
    known: dict[Hashable, str] = field(default_factory=dict)
    end: str = ""
    """The block in which its beginning ends, where that has several."""


class FunctionWriter:
    """The text of one function under construction; `sizes` are the names of sizes, which are loaded at its beginning."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.cells: dict[int, int] = {}
        self.count = 0
        entry = Frame("entry", "", "")
        self.frames = [entry]
        self.chunks: list[list[str]] = [["entry:"], entry.head, []]
        self.label = "entry"
        self.bound: dict[Index, Placed] = {}
        self.floor = 0
        """No element is read in a frame before this one: only from here on it is certain to be there."""

    # ------------------------------------------------------------ lines

    def fresh(self) -> str:
        self.count += 1
        return f"%t.{self.count}"

    def say(self, line: str) -> None:
        """A line where the text has come to."""
        self.chunks[-1].append(f"  {line}")

    def put(self, right: str) -> str:
        """A value computed where the text has come to."""
        z = self.fresh()
        self.say(f"{z} = {right}")
        return z

    def place(self, level: int, right: str, key: Hashable = None) -> str:
        """A value computed at the beginning of frame `level`, once for each `key`."""
        frame = self.frames[level]
        if key is not None and key in frame.known:
            return frame.known[key]
        z = self.fresh()
        frame.head.append(f"  {z} = {right}")
        if key is not None:
            frame.known[key] = z
        return z

    def computed(self, level: int, template: str, operands: Sequence[str]) -> str:
        """The value of an operation at the beginning of frame `level`, once for the same operands."""
        key = ("operation", template, *operands)
        known = self.frames[level].known
        if key not in known:
            z = known[key] = self.fresh()
            self.frames[level].head.append(template.format(*operands, z=z))
        return known[key]

    def at_beginning(self, level: int) -> bool:
        """True if the text has not left the beginning of frame `level`, so that this may have branches."""
        frame = self.frames[level]
        return level == len(self.frames) - 1 and self.label == (frame.end or frame.label)

    def either(self, kind: str, values: Sequence[str], holds: str, instead: Callable[[], Sequence[str]]) -> list[str]:
        """Values of a type at the beginning of the innermost frame; where something does not hold, those that `instead` writes.
        The text must still be `at_beginning`."""
        self.count += 1
        frame, before, other, end = self.frames[-1], self.label, f"instead.{self.count}", f"either.{self.count}"
        known = dict(frame.known)
        frame.head += [f"  br i1 {holds}, label %{end}, label %{other}", f"{other}:"]
        frame.end = self.label = other
        pairs = [*zip(values, instead(), strict=True)]
        frame.head += [f"  br label %{end}", f"{end}:"]
        found = [self.fresh() for _ in values]
        frame.head += [f"  {z} = phi {kind} [ {x}, %{before} ], [ {y}, %{self.label} ]"
                       for z, (x, y) in zip(found, pairs, strict=True)]
        frame.end = self.label = end
        frame.known = known
        return found

    def block(self, label: str, *chunks: list[str]) -> None:
        self.label = label
        self.chunks += [[f"{label}:"], *chunks, []]

    def text(self) -> list[str]:
        return [line for chunk in self.chunks for line in chunk]

    def tell(self, name: str, cells: Sequence[int]) -> None:
        """An array with the positions of cells, on the stack."""
        self.chunks[0].append(f"  {name} = alloca i64, i64 {max(1, len(cells))}")
        for k, cell in enumerate(cells):
            at = f"{name}.{k}.at"
            self.chunks[0] += [f"  {at} = getelementptr i64, ptr {name}, i64 {k}", f"  store i64 {cell}, ptr {at}"]

    def defined(self, head: str) -> list[str]:
        """The function with this head, which returns nothing."""
        self.say("ret void")
        return [f"{head} {{", *self.text(), "}", ""]

    def every(self, tests: Iterable[str], whole: str = "true") -> str:
        """True if all of these are."""
        for test in tests:
            whole = self.put(f"and i1 {whole}, {test}")
        return whole

    # ------------------------------------------------------------ loops and conditions

    def open_loop(self, index: Index | None, low: str, high: str, step: int | str,
                  carried: Sequence[tuple[str, str]]) -> list[str]:
        """Begin a loop while index < high; `carried` are types and first values of what goes from turn to turn. Their names."""
        self.count += 1
        n = self.count
        frame = Frame(f"loop.{n}", self.label, f"done.{n}", f"%index.{n}", step, high)
        some = self.put(f"icmp slt i64 {low}, {high}")
        self.say(f"br i1 {some}, label %{frame.label}, label %{frame.exit}")
        frame.carried = [(kind, start, f"%sum.{n}.{k}") for k, (kind, start) in enumerate(carried)]
        frame.phis.append(low)
        self.frames.append(frame)
        self.block(frame.label, frame.phis, frame.head)
        if index is not None:
            self.bound[index] = frame.index, len(self.frames) - 1
        return [name for _, _, name in frame.carried]

    def close_loop(self, results: Sequence[str], until: str | None = None) -> list[str]:
        """End the innermost loop, where `until` holds before its last turn; `results` are what is carried on. What is carried
        out of the loop."""
        frame = self.frames.pop()
        following = self.put(f"add nsw i64 {frame.index}, {frame.step}")
        more = self.put(f"icmp slt i64 {following}, {frame.last}")
        if until is not None:
            more = self.put(f"select i1 {until}, i1 false, i1 {more}")
        self.say(f"br i1 {more}, label %{frame.label}, label %{frame.exit}")
        low, latch = frame.phis.pop(), self.label
        frame.phis.append(f"  {frame.index} = phi i64 [ {low}, %{frame.before} ], [ {following}, %{latch} ]")
        frame.phis += [f"  {name} = phi {kind} [ {start}, %{frame.before} ], [ {result}, %{latch} ]"
                       for (kind, start, name), result in zip(frame.carried, results, strict=True)]
        frame.phis += [f"  {name} = phi {kind} [ {start}, %{frame.before} ], [ {following}, %{latch} ]"
                       for kind, start, name, following in frame.kept]
        self.block(frame.exit)
        return self.joined(frame, results, latch)

    def open_condition(self, holds: str, carried: Sequence[tuple[str, str]] = ()) -> None:
        """Begin what is done only where `holds`."""
        self.count += 1
        frame = Frame(f"then.{self.count}", self.label, f"after.{self.count}")
        self.say(f"br i1 {holds}, label %{frame.label}, label %{frame.exit}")
        frame.carried = [(kind, start, "") for kind, start in carried]
        self.frames.append(frame)
        self.block(frame.label, frame.head)

    def close_condition(self, results: Sequence[str] = ()) -> list[str]:
        frame, latch = self.frames.pop(), self.label
        self.say(f"br label %{frame.exit}")
        self.block(frame.exit)
        return self.joined(frame, results, latch)

    @contextmanager
    def each(self, low: str, high: str, step: int | str = 1, index: Index | None = None) -> Iterator[str]:
        """What is done for each value below `high`, by that value."""
        self.open_loop(index, low, high, step, ())
        yield self.frames[-1].index
        self.close_loop([])
        if index is not None:
            del self.bound[index]

    @contextmanager
    def where(self, holds: str) -> Iterator[None]:
        """What is done only where something holds."""
        self.open_condition(holds)
        yield
        self.close_condition()

    def negated(self, holds: str) -> str:
        return self.put(f"xor i1 {holds}, true")

    def joined(self, frame: Frame, results: Sequence[str], latch: str) -> list[str]:
        return [self.put(f"phi {kind} [ {start}, %{frame.before} ], [ {result}, %{latch} ]")
                for (kind, start, _), result in zip(frame.carried, results, strict=True)]

    # ------------------------------------------------------------ integers

    def number(self, x: Affine) -> Placed:
        """An expression of sizes and of indices whose loops are open."""
        parts = sorted([(*self.atom(a), c) for a, c in x.terms], key=lambda part: part[1])
        if not parts:
            return str(x.constant), 0
        level = parts[-1][1]
        if x in self.frames[level].known:
            return self.frames[level].known[x], level
        whole, at = str(x.constant), 0
        for text, here, c in parts:
            at = here
            term = text if c == 1 else self.place(at, f"mul nsw i64 {text}, {c}")
            whole = term if whole == "0" else self.place(at, f"add nsw i64 {whole}, {term}")
        self.frames[level].known[x] = whole
        return whole, level

    def atom(self, a: AffineAtom) -> Placed:
        match a:
            case Floor(whole, by):
                (x, i), (n, j) = self.number(whole), self.number(by)
                return self.quotient(x, max(i, j), n), max(i, j)
            case Extreme(parts, largest):
                text, level = self.number(parts[0])
                for p in parts[1:]:
                    text, level = self.extreme((text, level), self.number(p), largest)
                return text, level
            case Product(left, right):
                (x, i), (y, j) = self.number(left), self.number(right)
                return self.place(max(i, j), f"mul nsw i64 {x}, {y}", ("*", x, y)), max(i, j)
            case Modulo(whole, by):
                (x, i), (n, j) = self.number(whole), self.number(by)
                return self.remainder(x, n, max(i, j), self.goes_around_once(whole, by)), max(i, j)
            case Index():
                return self.bound[a]
            case _:
                return self.size(a), 0

    def size(self, name: str) -> str:
        return self.place(0, f"load i64, ptr {self.cell(self.sizes[name])}", ("size", name))

    def cell(self, position: int) -> str:
        """The address of a cell of `env`. Which cell it is the function learns from `cells`, so that functions that differ in
        nothing else are one."""
        k = self.cells.setdefault(position, len(self.cells))
        where = self.place(0, f"getelementptr i64, ptr %cells, i64 {k}", ("where", k))
        number = self.place(0, f"load i64, ptr {where}", ("number", k))
        return self.place(0, f"getelementptr i64, ptr %env, i64 {number}", ("cell", k))

    def quotient(self, text: str, level: int, by: str) -> str:
        """The floor of a quotient."""
        key = ("/", text, by)
        if key in self.frames[level].known:
            return self.frames[level].known[key]
        q = self.place(level, f"sdiv i64 {text}, {by}")
        back = self.place(level, f"mul i64 {q}, {by}")
        over = self.place(level, f"icmp sgt i64 {back}, {text}")
        one = self.place(level, f"zext i1 {over} to i64")
        return self.place(level, f"sub i64 {q}, {one}", key)

    def goes_around_once(self, whole: Affine, by: Affine) -> bool:
        """True if an expression is surely from -by on and less than twice `by`."""
        return False

    def remainder(self, text: str, by: str, level: int, once: bool) -> str:
        """Remainder of a division by a positive number, from 0 on."""
        key = ("%", text, by)
        if key in self.frames[level].known:
            return self.frames[level].known[key]
        if once:   # a division takes as long as all else that a stencil does
            beyond = self.place(level, f"icmp sge i64 {text}, {by}")
            left = self.place(level, f"sub i64 {text}, {self.place(level, f'select i1 {beyond}, i64 {by}, i64 0')}")
        else:
            left = self.place(level, f"srem i64 {text}, {by}")
        more = self.place(level, f"add i64 {left}, {by}")
        below = self.place(level, f"icmp slt i64 {left}, 0")
        return self.place(level, f"select i1 {below}, i64 {more}, i64 {left}", key)

    def extreme(self, one: Placed, other: Placed, largest: bool) -> Placed:
        (x, i), (y, j) = one, other
        if x == y:
            return one
        name = "smax" if largest else "smin"
        return self.place(max(i, j), f"call i64 @llvm.{name}.i64(i64 {x}, i64 {y})", (name, x, y)), max(i, j)

    def product(self, texts: Sequence[str]) -> str:
        """The product of values of the function's beginning."""
        found = "1"
        for text in texts:
            found = text if found == "1" else found if text == "1" else self.place(0, f"mul nsw i64 {found}, {text}",
                                                                                  ("*", found, text))
        return found
