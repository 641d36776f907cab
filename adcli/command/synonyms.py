"""Names that other tools have for the verbs and options of adcli.

An option has its answers in the order of preference: the first one that the verb has, and whose value it takes, is the one
that is proposed. An answer with a value replaces the option and its value; one without keeps the value that was typed. What is
no option is a sentence, where no option does the same alone.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping


def table(rows: Mapping[str, str]) -> dict[str, str]:
    """By each word of a row, the answer that the row is under."""
    return {word: answer for answer, words in rows.items() for word in words.split()}


def choices(rows: Iterable[tuple[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    """By each word of a row, the answers of the row."""
    return {word: answers for words, answers in rows for word in words.split()}


WORD_SYNONYMS = {"target": table({
    "js": "javascript node ecmascript typescript ts mjs", "python": "numpy np py python3", "c": "c99 c11 clang gcc c++ cpp cxx",
    "header": "h hpp", "latex": "tex math", "dot": "graphviz gv graph", "llvm": "ll ir llvm-ir bitcode",
    "asm": "assembly assembler s", "object": "o obj", "library": "so dll dylib shared lib", "text": "ad adcli source dsl plain",
    "--emit object --target wasm32": "wasm wasm32 webassembly wat", "--emit library --abi casadi": "casadi ipopt",
    "--format json": "json", "--format csv": "csv"})}
"""Synonyms of the words of a choice, by its kind."""
VERB_SYNONYMS = table({
    "eval": "value values run evaluate compute calc calculate call primal",
    "grad": "diff differentiate derivative derivatives derive gradient gradients partial partials d",
    "jvp": "tangent forward pushforward directional fwd",
    "vjp": "adjoint backward backprop pullback cotangent reverse rev",
    "jacobian": "jac jacobi J jacfwd jacrev",
    "hessian": "hess H",
    "taylor": "series expand expansion jet",
    "propagate": "uncertainty error errors gum montecarlo monte-carlo u",
    "why": "explain nan debug diagnose",
    "trace": "table tape steps",
    "draw": "graph diagram graphviz dot picture",
    "plot": "curve curves chart contour contours graphs figure",
    "explore": "page browser html interactive web",
    "lsp": "server language-server pygls",
    "editor": "vscode vim neovim emacs sublime textmate syntax highlight",
    "fmt": "format pretty tidy lint",
    "show": "print compile dump parse ast ir emit stage",
    "check": "test verify gradcheck checkgrad validate",
    "bench": "time timeit benchmark profile perf",
    "functions": "function list builtins ops operations",
    "minimize": "minimise optimize optimise optim fmin argmin", "adcli minimize --maximize": "maximize maximise fmax argmax",
    "solve": "root roots fsolve fzero newton",
    "fit": "regress regression curve_fit lsq nls leastsq",
    "help": "man manual docs doc topics usage commands options verbs",
    "adcli --version": "version ver about",
})

OF_VERBS = {
    "fit": choices([
        ("start starts p0 x0 init initial guess beta0 parameters", ("--params",)),
        ("bounds bound limits range ranges", ("--params 'x=1 in [0, 2]'",)),
        ("fix fixed freeze constant", ("write --at b=1, and leave b out of --params",)),
        ("method solver algorithm", ("the solver goes by the problem; for outliers write --loss huber",)),
        ("x xdata", ("columns are matched with inputs by name: --rename t=x reads the column t as x",)),
        ("ydata target", ("--y",)), ("yerr err errors error uncertainty", ("write --y y:s, with the column s of uncertainties",)),
        ("maxiter max-iter maxfev iterations", ("--evaluations",))]),
    "minimize": choices([
        ("start starts x0 init initial guess", ("--at",)), ("method algorithm", ("--solver",)),
        ("bounds bound limits range ranges box", ("--subject-to '0 <= x <= 2'",)),
        ("constraint constraints cons st such-that", ("--subject-to",)), ("objective", ("--of",)),
        ("fix fixed freeze", ("write --wrt x with the inputs to move: the others stay where --at has them",))]),
    "solve": choices([
        ("start starts x0 init initial guess", ("--at",)), ("constraint constraints eq equations", ("--equation",)),
        ("bounds bound limits range ranges bracket", ("declare the range before the equations: -e 'input x in [0, 2]'",)),
        ("fix fixed freeze", ("write --wrt x with the unknowns: the others stay where --at has them",)),
        ("method solver algorithm", ("the solver goes by the problem; a range is declared: -e 'input x in [0, 2]'",))]),
    "propagate": choices([
        ("u sigma sd std stdev uncertainty uncertainties unc errors",
         ("write the standard uncertainty behind the value: --at x=2±0.1",)),
        ("k", ("for a coverage factor of 2 write --coverage 0.9544997361, for an input --at k=2",))]),
    "plot": choices([("x xrange xlim range domain", ("--at x=-3:3",)), ("figsize width height dimensions", ("--size 16x10cm",)),
                     ("dark", ("--theme dark",)), ("parametric", ("--against",)), ("scatter overlay points-from", ("--data",)),
                     ("twinx y2 secondary second-axis", ("--right",))]),
    "trace": choices([("mode", ("both modes are shown: --tangent x=1 is the direction, --cotangent v=1 the weights",))]),
    "check": choices([("method methods", ("leave it out: every method that applies is used",))]),
}
"""Answers of one verb, which come before those of all verbs."""
OPTIONS = choices([
    ("expr eval formula exec code c", ("-e",)),
    ("point points values value inputs x0 params", ("--at",)),
    ("input file table", ("--data",)),
    ("csv", ("--format csv", "--data")),
    ("out outfile output-file out-file save dest O", ("-o",)),
    ("json", ("--format json",)), ("text", ("--format text",)),
    ("mtx matrix-market", ("--format mtx",)), ("coo", ("--format coo",)),
    ("latex tex", ("--format latex", "--emit latex")), ("markdown md", ("--format markdown",)),
    ("tsv", ("--format tsv",)), ("ndjson jsonl", ("--input-format ndjson",)), ("parquet", ("--format parquet",)),
    ("prec decimals float-format printf", ("--fmt %.6g",)), ("hexadecimal", ("--hex",)),
    ("f output-format type", ("--format",)),
    ("reverse backward rev", ("--mode reverse", "--stage reverse")), ("forward fwd", ("--mode forward", "--stage forward")),
    ("by respect-to with-respect-to vars variables var respect independent", ("--wrt",)),
    ("outputs select dependent", ("--of",)),
    ("direction along dot tangents dx", ("--tangent",)), ("adjoint adjoints", ("--cotangent",)),
    ("weight", ("--cotangent", "--weights")), ("total", ("--sum",)), ("average avg", ("--mean",)),
    ("groupby group by-group", ("--group-by",)),
    ("threads thread parallel workers cores procs j", ("--jobs",)),
    ("degree n", ("--order",)),
    ("verbose v debug info", ("--explain", "--status", "--version")), ("silent s", ("--quiet",)), ("V", ("--version",)),
    ("tol tolerance rtol atol eps", ("--digits 19", "--digits")), ("accuracy", ("--digits",)),
    ("bounds interval intervals box", ("--enclose",)),
    ("to lang", ("--emit",)), ("name function func fname function-name", ("--symbol",)),
    ("triple machine platform arch", ("--target",)), ("mcpu march processor", ("--cpu",)),
    ("llvm ir ll", ("--emit llvm",)), ("asm assembly S", ("--emit asm",)),
    ("js javascript", ("--emit js",)), ("python numpy py", ("--emit python",)), ("graphviz graph", ("--emit dot",)),
    ("object obj", ("--emit object",)), ("anf", ("--stage anf", "--style anf")), ("prefix", ("--style prefix",)),
    ("simd width vector", ("--lanes 4",)),
    ("skip ignore-errors skip-errors keep-going", ("--on-error skip",)),
    ("nan", ("--missing nan",)), ("na-values na_values null null-values", ("--na",)),
    ("sep separator delim fs", ("--delimiter",)), ("decimal-comma comma", ("--decimal ,",)),
    ("noheader header headerless", ("--no-header",)), ("names colnames column-names", ("--columns",)),
    ("results-only output-only no-input", ("--only",)),
    ("sparse", ("--no-zeros",)), ("dense full", ("--zeros",)), ("spy sparsity", ("--pattern",)),
    ("backend vm bytecode jit interpret", ("--tier tape",)), ("aot compile", ("--tier compiled",)),
    ("nocache fresh force recompile", ("--no-cache",)),
    ("std sigma confidence level", ("--coverage 0.95",)), ("mc samples trials", ("--monte-carlo",)),
    ("corr correlations", ("--correlation",)),
    ("repeat duration", ("--seconds",)), ("batch size", ("--rows",)), ("diff dry-run", ("--check",)),
])
