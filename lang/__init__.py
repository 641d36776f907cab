"""The language, its intermediate representation, and the mathematics of derivatives; nothing of command lines or of machines.

The rooms, each built on those before it: `ir` (what a program is), `evaluate` (what it means), `syntax` (text and tree), `lower`
(tree to program), `passes` (program to program), `derive` (which sweeps give what is asked), `analyse` (questions about a program
at a point). Bad programs raise `AdError` and nothing else.

One word for one thing, here and in all of the project:

    program        params (inputs), equations, results (outputs); in single-assignment form, never changed
    equation       outs = op(args), with the span of text it came from; an atom is a Var or a Lit
    primitive      an operation on scalars, a row of the table; a row has a linear map for each argument
    comprehension  an operation on tensors: for each point of a domain the value of a body goes to an element
    point          a number for each input; of a comprehension, for each index: its domain is the points that meet its guards
    primal         the program that is differentiated, and its values
    tangent        the derivative of a value along a direction: forward mode, `dx`; the direction is the tangents of the inputs
    adjoint        the derivative of the outputs, with weights, by a value: reverse mode, `d_dx`; the weights are those of outputs
    seed           an input of a derivative program: a component of a direction, or a weight
    sweep          one run of forward or reverse mode through a program; a plan is the sweeps that give a matrix of partials
    partial        a partial derivative, dv_dx; an entry is its place in a Jacobian or Hessian
    active         depending on an input that is differentiated with respect to
    guard          the condition under which a derivative value exists; elsewhere it is zero by construction
    status         the worst level that an evaluation meets, from smooth to indeterminate; a place is where it was met
    size, extent   a name for a number of elements; the length of one dimension, an expression of sizes
    enclosure      guaranteed bounds of a result, and its decoration: whether it is defined and continuous where they hold
    row            one point of a table of data, with its results; or one primitive of the table, where that is what is spoken of
    kernel         native code for a program, called on memory
    tape           a program as an array of operations and slots; its interpreter is one piece of code for all
    tier           which of the two a kernel is: compiled code of its own, or a tape with its interpreter
    fix            a change of the text that mends a fault; it is tried before it is proposed
    task           a request of a command line, worked out: program, derivative, kernel
"""
