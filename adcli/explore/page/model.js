// What the document says, as the panes ask for it: steps, rows, lines, values.

import {number} from "./numbers.js";
import {typeset} from "./typeset.js";

const TITLES = {program: "Program", forward: "Forward", reverse: "Reverse", simplified: "Reverse, simplified"};
const WAYS = {forward: "tangent", reverse: "adjoint"};

/** The model of a document. An operation has the number of its equation; input k has −1 − k. */
export function modelOf(doc) {
    const evaluate = adcliEvaluator(doc);
    const inputs = doc.inputs.map((input, k) => ({
        ...input, start: given(input.start), low: end(input.low), high: end(input.high), op: -1 - k,
    }));
    const outputs = doc.outputs.map((output) => ({...output, op: /^op/.test(output.from) ? Number(output.from.slice(2)) : null}));
    const moving = inputs.filter((input) => input.differentiated).map((input) => input.name);
    const weighed = outputs.filter((output) => output.constant === undefined).map((output) => output.name);
    const steps = {forward: forwardSteps(doc.table), reverse: reverseSteps(doc.table)};
    const reached = {forward: firsts(steps.forward), reverse: firsts(steps.reverse)};
    const styles = Object.keys(doc.panes.find((pane) => pane.styles).styles).reverse();
    const truths = doc.operations.flatMap((operation) => operation.outs.filter((out) => out.truth).map((out) => out.value));
    const place = (name, list) => Math.max(0, list.findIndex((each) => each.name === name));

    const slots = (rows) => new Set(rows.map((row) => row.value));
    const others = {forward: slots(doc.table.adjoint), reverse: slots(doc.table.tangent)};
    let found, of = [];

    /** What the evaluator gives, which no step changes. */
    function everything(state) {
        const now = [state.at, state.forward, state.reverse, state.mode, state.element];
        if (now.some((each, i) => each !== of[i])) {
            const seed = (mode, list) => ({index: place(state[mode], list), element: state.mode === mode ? state.element : null});
            found = evaluate(state.at, seed("forward", inputs), seed("reverse", outputs));
            for (const slot of truths) found.values[slot] = Boolean(found.values[slot]);
            of = now;
        }
        return found;
    }

    /** Why nothing can be computed in a state, as where a subscript is out of range; else nothing. */
    function fault(state) {
        const split = inputs.find((input, i) => input.integer && !whole(state.at[i]));
        if (split) return `${split.name} is a whole number.`;
        try {
            everything(state);
        } catch (error) {
            if (error instanceof RangeError) return `${error.message}.`;
            throw error;
        }
        return "";
    }

    /** Everything at the inputs and the seed of a state; what is not reached yet is undefined. */
    function evaluated(state) {
        const {values, status} = everything(state), count = steps[state.mode].length;
        const until = state.predict ? state.step - (state.shown ? 0 : 1) : count;
        const step = (slot) => reached[state.mode].get(slot) ?? (others[state.mode].has(slot) ? count : -Infinity);
        const open = (slot) => until >= count || step(slot) < until;
        return {
            status: until >= count ? status : null,
            at: (slot) => values[slot],
            of: (entry) => (entry.constant !== undefined ? given(entry.constant)
                : entry.value === undefined ? 0 : open(entry.value) ? values[entry.value] : undefined),
            otherwise: (row) => open(row.value) && (row.assumes ?? []).some(([[slot, truth], ...where]) =>
                Boolean(values[slot]) !== truth && where.every(([c, holds]) => Boolean(values[c]) === holds)),
            why: (row) => reasons(row, (slot) => adcliReasons(doc, everything(state), slot, number)),
        };
    }

    return {
        name: doc.name, about: about(doc.source), inputs, outputs, evaluated, fault, styles,
        seeds: {forward: moving, reverse: weighed},
        notations: ["unicode", "plain"],
        start: {at: inputs.map((input) => input.start), mode: "reverse", forward: moving[0], reverse: weighed.at(-1)},
        steps: (state) => steps[state.mode],
        seed: (state) => chosen(state, inputs, outputs),
        way: (state) => WAYS[state.mode],
        named: (slot, state) => doc.names[state.notation][slot],
        formula: (row, state) => spelled(row.formula[state.notation], (slot) => doc.names[state.notation][slot]),
        math: (row, state, how) => math(row, doc.names, state.notation, how),
        made: ({name, formula}, state) =>
            `${name[state.notation]} = ${spelled(formula, (slot) => doc.names[state.notation][slot])}`,
        statement: (row, state) => statement(row, doc.names[state.notation], state.notation),
        legend: (state) => (state.notation === "unicode" ? doc.legend : ""),
        filled: (row, state, values) => spelled(row.formula[state.notation], (slot, alone) => operand(values.at(slot), alone)),
        rows: (state) => rows(doc, inputs, outputs, WAYS[state.mode]),
        programs: doc.panes.map(program), quiz: doc.quiz,
        graph: graphOf(doc, inputs, outputs), tensors: tensorsOf(doc, inputs),
        derivedTexts: (entry, state) => derivedTexts(doc, entry, state),
        results: (state, values) => results(state, values, inputs, outputs),
    };
}

/** Whether a number, or every element of a tensor, is a whole number. */
const whole = (x) => (x.data ?? [x]).every(Number.isInteger);

/** A formula as text: pieces that are numbers are values, spelled by `spell`. */
function spelled(pieces, spell) {
    const alone = (i) => i === 0 || /[({]$/.test(pieces[i - 1]);
    return pieces.map((piece, i) => (typeof piece === "number" ? spell(piece, alone(i)) : piece)).join("");
}

/** What makes a value, with its name on the left; the text of a line with tensors has one. */
function statement(row, names, notation) {
    const text = spelled(row.formula[notation], (slot) => names[slot]);
    return row.whole ? text : `${names[row.value]} = ${text}`;
}

/** A formula as an element or a text, with its name in front where it is `named`, and with numbers where there are `values`. */
function math(row, names, notation, {named, values} = {}) {
    const text = (style) => {
        const spell = values ? (slot, alone) => operand(values.at(slot), alone) : (slot) => names[style][slot];
        return `${named && !row.whole ? `${names[style][row.value]} = ` : ""}${spelled(row.formula[style], spell)}`;
    };
    return notation === "plain" || row.whole ? text(notation) : typeset(text("latex"), text(notation));
}

/** A value within a formula: a negative one in parentheses. */
function operand(x, alone) {
    if (x === undefined || typeof x === "object") return "□";
    const text = number(x);
    return text.startsWith("-") && !alone ? `(${text})` : text;
}

/** What made a value: for an adjoint that is a sum or a copy, what made the first of its parts that says something. */
function reasons(row, why) {
    const slots = [row.value, ...row.formula.plain.filter((piece) => typeof piece === "number")];
    return slots.map(why).find((sentences) => sentences.length) ?? [];
}

/** Each value with its tangent behind it. */
function forwardSteps(table) {
    const tangents = new Map();
    for (const row of table.tangent) tangents.set(row.op, [...tangents.get(row.op) ?? [], {...row, kind: "tangent"}]);
    return table.primal.flatMap((row) => {
        const own = tangents.get(row.op) ?? [];
        tangents.delete(row.op);
        return [{...row, kind: "primal"}, ...own];
    });
}

/** All values, then the adjoints in the order of the sweep. */
function reverseSteps(table) {
    return [...table.primal.map((row) => ({...row, kind: "primal"})), ...table.adjoint.map((row) => ({...row, kind: "adjoint"}))];
}

/** The step at which each value is there. */
function firsts(steps) {
    const found = new Map();
    steps.forEach((step, i) => found.has(step.value) || found.set(step.value, i));
    return found;
}

/** A number of the document, or a tensor. */
function given(x) {
    return typeof x === "object" ? {shape: x.shape, data: Float64Array.from(x.data, Number)} : Number(x);
}

/** An end of a range; of an open one null. */
function end(x) {
    return Number.isFinite(x) ? x : null;
}

/** The first sentence of the comment at the head of a program. */
function about(source) {
    const lines = source.split("\n"), end = lines.findIndex((line) => !line.startsWith("# "));
    const text = lines.slice(0, end < 0 ? lines.length : end).map((line) => line.slice(2).trim()).join(" ");
    return /^.*?(?<!\b[A-Z])\.(?= |$)/.exec(text)?.[0] ?? text;   // not at an initial
}

/** The rows of the evaluation table: inputs, operations, outputs that no operation is called like. */
function rows(doc, inputs, outputs, way) {
    const derived = new Map(doc.table[way].map((row) => [row.value, row]));
    const primal = new Map(doc.table.primal.map((row) => [row.value, row]));
    const entry = (each, op, word) => ({
        op, name: each.name, value: each.value, constant: each.constant, row: primal.get(each.value), word,
        derived: each[way] === undefined ? null : {value: each[way], row: derived.get(each[way]), made: each.made?.[way]},
    });
    const made = doc.operations.flatMap((operation, k) => operation.outs.map((out) => entry(out, k, operation.name)));
    const names = new Set(made.map((each) => each.name));
    return [
        inputs.map((input) => entry(input, input.op, "input")), made,
        outputs.filter((output) => !names.has(output.name)).map((output) => entry(output, output.op, "output")),
    ];
}

/** A pane of code: its lines in each style. */
function program(pane) {
    const line = ({text, kind, ops, spans, values}) => ({
        text, spans, kind: kind ?? (text.startsWith("#") ? "comment" : null), ops: ops ?? [],
        values: (values ?? []).map(([, value]) => ({value})),
    });
    const styles = pane.styles ?? {"": pane.lines};
    return {
        key: pane.key, title: TITLES[pane.key] ?? pane.key, about: pane.command ? `adcli ${pane.command}` : "",
        lines: (style) => (styles[style] ?? Object.values(styles)[0]).map(line),
    };
}

/** The parts of the graph, each node with what it shows; an output that is an operation of the same name is that operation. */
function graphOf(doc, inputs, outputs) {
    const known = new Map(inputs.map((input, k) => [`in${k}`, {...input, role: "input"}]));
    doc.operations.forEach(({outs}, k) => known.set(`op${k}`, {...outs.at(-1), op: k, role: "operation"}));
    outputs.forEach((output, k) => {
        const node = known.get(output.from);
        if (node && node.name === output.name) node.role = "output";
        else known.set(`out${k}`, {...output, role: "output"});
    });
    return {parts: doc.graph.map((part) => ({...part, nodes: part.nodes.map((node) => ({...known.get(node.id), ...node}))}))};
}

/** The input or output that has the seed. */
function chosen(state, inputs, outputs) {
    const list = state.mode === "forward" ? inputs : outputs;
    return list.find((each) => each.name === state[state.mode]) ?? {shape: []};
}

/** The outputs, and the derivatives that one sweep gives: of all outputs by one input, or of one output by all inputs. A seed of
 *  many elements gives tangents or adjoints, which are sums of derivatives. */
function results(state, values, inputs, outputs) {
    const {shape} = chosen(state, inputs, outputs), at = state.element ? `(${state.element.join(", ")})` : "";
    const way = WAYS[state.mode], seed = state[state.mode] + at;
    const name = (each) => {
        if (shape.length && !at) return `${way} of ${each.name}`;
        return state.mode === "forward" ? `∂${each.name}/∂${seed}` : `∂${seed}/∂${each.name}`;
    };
    const list = state.mode === "forward" ? outputs : inputs.filter((input) => input.differentiated);
    const derived = state[state.mode] === undefined ? [] : list.map((each) => [name(each), values.of({value: each[way]})]);
    return {outputs: outputs.map((output) => [output.name, values.of(output)]), derived, status: values.status};
}

/** The inputs and operations that are tensors. */
function tensorsOf(doc, inputs) {
    const made = doc.operations.flatMap((operation, k) => operation.outs.map((out) => ({...out, op: k, text: operation.text})));
    return [...inputs.map((input, k) => ({...input, input: k})), ...made].filter((each) => each.shape.length);
}

/** The lines of a derivative program that belong to an operation. */
function derivedTexts(doc, entry, state) {
    if (entry.op < 0) return [];
    const lines = Object.values(doc.panes.find((pane) => pane.key === state.mode).styles)[0];
    return lines.filter((line) => line.kind === WAYS[state.mode] && line.ops.includes(entry.op)).map((line) => line.text.trim());
}
