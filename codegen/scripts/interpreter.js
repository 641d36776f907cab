// Carries out tapes (tape.py says what they are). A tensor is {shape, data}, data in the order of the last subscript fastest.

function adcliRun(tape, inputs) {
    // the values of all slots of a tape
    const values = inputs.slice();
    const constants = tape.numbers ??= tape.constants.map(Number);
    const operations = tape.functions ??= tape.operations.map(name => adcliOperations[name]);
    for (const equation of tape.equations) {
        const args = equation.slice(1).map(k => k < 0 ? constants[-1 - k] : values[k]);
        const code = equation[0];
        values.push(code < 0 ? adcliComprehension(tape.comprehensions[-1 - code], args) : operations[code](...args));
    }
    return values;
}

function adcliResults(tape, inputs) {
    const values = adcliRun(tape, inputs);
    return tape.results.map(k => k < 0 ? tape.numbers[-1 - k] : values[k]);
}

function adcliComprehension(c, args) {
    // its result: a tensor, or a number where it has no shape
    const combine = c.combine === null ? (before, x) => x : adcliOperations[c.combine];
    const size = c.shape.reduce((n, extent) => n * extent, 1);
    const start = c.onto === undefined ? undefined : args[c.onto];
    const data = start === undefined ? new Float64Array(size).fill(Number(c.neutral)) : Float64Array.from(start.data ?? [start]);
    const at = c.ranges.map(([low]) => low);
    let more = c.ranges.every(([low, high]) => low < high);
    while (more) {
        if (c.guards.every(g => adcliAffine(g, at) >= 0)) {
            const element = adcliElement(c.write, c.shape, at, args);
            const given = c.sources.map(s => adcliSource(s, at, args));
            data[element] = combine(data[element], adcliResults(c.body, given)[0]);
        }
        let d = at.length - 1;
        while (d >= 0 && ++at[d] >= c.ranges[d][1]) at[d] = c.ranges[d--][0];
        more = d >= 0;
    }
    return c.shape.length ? {shape: c.shape, data} : data[0];
}

function adcliSource(s, at, args) {
    // an element of an argument, or the value of an expression of indices
    if (s.arg === undefined) return adcliAffine(s, at);
    const tensor = args[s.arg];
    return s.at.length ? tensor.data[adcliElement(s.at, tensor.shape, at, args)] : tensor;
}

function adcliElement(subscripts, shape, at, args) {
    // where an element lies in `data`; RangeError where a subscript that was read is none
    return subscripts.reduce((k, s, d) => {
        const i = adcliSource(s, at, args);
        if (s.arg !== undefined && !(Number.isInteger(i) && i >= 0 && i < shape[d])) {
            throw new RangeError(`${i} is out of range: subscripts go from 0 to ${shape[d] - 1}`);
        }
        return k * shape[d] + i;
    }, 0);
}

function adcliAffine(x, at) {
    if (typeof x === "number") return x;
    return x.t.reduce((sum, [atom, coefficient]) => sum + coefficient * adcliAtom(atom, at), x.c);
}

function adcliAtom(atom, at) {
    if (typeof atom === "number") return at[atom];
    if (atom.floor) return Math.floor(adcliAffine(atom.floor[0], at) / atom.floor[1]);
    if (atom.times) return adcliAffine(atom.times[0], at) * adcliAffine(atom.times[1], at);
    if (atom.remainder) {
        const [whole, by] = atom.remainder.map(x => adcliAffine(x, at));
        return whole - by * Math.floor(whole / by);
    }
    const parts = (atom.least ?? atom.greatest).map(part => adcliAffine(part, at));
    return atom.least ? Math.min(...parts) : Math.max(...parts);
}
