// adcliEvaluator(document) gives a function of (inputs, tangent, cotangent) that returns the values of a page:
//   inputs     an array of numbers, or of {shape, data} for tensors, in the order of document.inputs
//   tangent    the index in document.inputs of the input that moves, or {index, element: [i, …]} for one element of a tensor
//   cotangent  the same for document.outputs
// What comes back is {values, status}: values[k] for every k that the document calls a value, a tangent or an adjoint, a number or
// {shape, data}; status is a word of document.levels.

//
// adcliOpened(text) is a promise of the document that data.py has packed into a text.

async function adcliOpened(text) {
    if (text.trimStart().startsWith("{")) return JSON.parse(text);
    const bytes = Uint8Array.from(atob(text.trim()), c => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

function adcliEvaluator(document) {
    const {tape, seeds} = document;

    function along(names, of, chosen) {
        // a seed for each name: 1 for the one that is chosen (all elements, or one), 0 for the others
        const {index, element} = typeof chosen === "number" ? {index: chosen} : chosen;
        return names.map(name => {
            const k = of.findIndex(x => x.name === name), shape = of[k].shape;
            if (shape.length === 0) return k === index ? 1 : 0;
            const data = new Float64Array(shape.reduce((n, extent) => n * extent, 1));
            if (k === index && element) data[element.reduce((at, i, d) => at * shape[d] + i, 0)] = 1;
            else if (k === index) data.fill(1);
            return {shape, data};
        });
    }

    return function evaluate(inputs, tangent = 0, cotangent = 0) {
        const given = [...inputs, ...along(seeds.tangent, document.inputs, tangent),
            ...along(seeds.cotangent, document.outputs, cotangent)];
        const values = adcliResults(tape, given);
        return {status: document.levels[values.pop()], values, tangent, cotangent};
    };
}
