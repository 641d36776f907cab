"""The language, its intermediate representation, and the mathematics of derivatives; nothing of command lines or of machines.

The rooms, each built on those before it: `ir` (what a program is), `sizes` (proofs about subscripts and extents), `evaluate`
(what a program means), `syntax` (text and tree), `passes` (program to program), `derive` (the sweeps that give what is asked),
`suggest` (what to write instead), `lower` (tree to program), `analyse` (questions about a program at a point). Bad programs
raise `AdError` and nothing else.

Glossary. One word for one thing, here and in all of the project:

  programs
    program        inputs, equations and outputs in static single-assignment form (SSA); never changed
    equation       outs = op(args), with the span of text it came from; an atom is a variable or a literal
    primitive      an operation on scalars; a row of the table, with its domain and a linear map for each argument
    scalar         a tensor of rank 0
    comprehension  a tensor operation: for each point of its domain, the value of its body goes to one element of the result
    domain         of a comprehension, the index values that meet its guards; of a function, the arguments at which it is defined
    index          a name that runs over a range; a subscript is an affine expression of indices that chooses an element
    reduction      how values for the same element are combined: sum, product, maximum, minimum, log-sum-exp
    guard          a condition on indices under which a value exists; elsewhere it is zero by construction
    recurrence     a loop over steps that writes histories; a history is a tensor with one dimension for the steps
    matrix op      an operation on whole matrices, such as solve, cholesky, inv and det
    size           a name for a number of elements; an extent is the length of one dimension, an expression of sizes
    prelude        definitions in the language that every program may call
    span           the part of a text that a value came from

  derivatives
    primal         the program that is differentiated, and its values
    tangent        derivative of a value along a direction: forward mode, `dx`
    direction      the tangents of the inputs
    adjoint        derivative of the weighted outputs by a value: reverse mode, `d_dx`; also cotangent
    cotangent      the weights of the outputs in reverse mode
    seed           an input of a derivative program: a component of a direction, or a weight
    pullback       the linear map from the adjoint of a result to those of the arguments; its transpose is the pushforward
    sweep          one run of forward or reverse mode through a program
    plan           the sweeps that give a matrix of partial derivatives
    duplication    the stage that gives each use of a value a copy of its own, so that reverse mode adds their adjoints
    active         depending on an input with respect to which we differentiate
    partial        a partial derivative, dv_dx; an entry is its place in a Jacobian or Hessian
    sparsity       which entries may be different from zero
    colouring      a partition of columns into groups that one sweep serves, because no row uses two of them
    checkpoint     a stored step of a loop, from which others are recomputed

  properties of a result
    status         the worst level that an evaluation meets: smooth, kink, jump, singular, pole, domain, indeterminate
    convention     the value that is chosen for a derivative where there is none; see `adcli help status`
    kink, tie      a point where one-sided derivatives differ; where two arguments of an extremum are equal
    enclosure      guaranteed bounds of a result, and a decoration: defined and continuous between them, or not
    digits         decimal digits that are proven correct
    residual       what is left of an equation at a proposed solution
    verdict        the judgement on a solution, minimum or fit, with the tests behind it
    rounding bound an upper bound of the error of floating-point arithmetic, in units of the last place (ulp)

  passes
    pass           a function from program to program that keeps its values
    value number   the representative of equal equations; common subexpressions get one
    liveness       which values are still read below an equation
    hoisting       moving what does not depend on an index or step out of its loop
    unrolling      writing a loop out step by step
    nonzero domain where a tensor can be different from zero
    support        the inputs on which a value depends

  code
    kernel         native code for a program, called on arrays
    tier           bytecode that an interpreter runs (the tape), or compiled code
    tier up        run quickly produced code first, and swap in optimised code when it is ready
    schedule       the loops of a tensor program: order, tiles, packing, fusion, registers, threads
    tile           a block of index values that is computed together; packing copies a tile into contiguous memory
    lane           one element of a vector register
    target         a form in which a program is emitted: text, C, JavaScript, Python, LaTeX, LLVM IR, object file, library
    artefact       a compiled program in the cache
    digest         the key of an artefact: a hash of program, options, adcli and machine

  use
    task           a request, resolved: program, derivative and kernel
    point          a number for each input; a grid is several
    row            one point of a table, with its results
    column         the values of one input or result over all rows
    batch          rows that a kernel computes in one call; a shard is what one worker of a cluster computes
    fix            a change of the text that mends a fault; it is tried before it is proposed
    fault          something wrong in what was given: place, reason, fix, exit code
"""
