// adcliReasons(document, evaluation, slot, show) gives sentences that say what made a NaN or an infinity, in the words of `adcli why`:
//   evaluation  what evaluate() has returned
//   slot        where the value, tangent or adjoint is found
//   show        a number as text; NaN and the infinities are nan, inf and -inf in these sentences
// The steps are those of adcli/lang/analyse/explain.py, and the sweeps those of numeric_sweeps.py: one goes back for as long as the
// number is merely passed on. A program with tensors has no rules for this, and no reasons.

const ADCLI_LONGEST = 40, ADCLI_DEEPEST = 3, ADCLI_SINGULAR = 3, ADCLI_POLE = 4;

const adcliShown = x => Number.isNaN(x) ? "nan" : x === Infinity ? "inf" : x === -Infinity ? "-inf"
    : Object.is(x, -0) ? "-0" : String(x);

function adcliReasons(document, evaluation, slot, show = adcliShown) {
    if (document.rules === null || Number.isFinite(evaluation.values[slot])) return [];
    const why = adcliExplainer(document, evaluation.values);
    const outs = [...document.inputs, ...document.operations.flatMap(operation => operation.outs)];
    const find = key => outs.find(out => out[key] === slot);
    const value = find("value"), tangent = find("tangent"), adjoint = find("adjoint");
    const sweep = forward => why.sweep(forward, forward ? evaluation.tangent : evaluation.cotangent);
    let found;
    if (value) found = why.cause({slot});
    else if (tangent) found = why.cause({slot: tangent.value, sweep: sweep(true)});
    else if (adjoint) found = why.cause({slot: adjoint.value, sweep: sweep(false)});
    else found = adcliOfCopy(document, why, evaluation.values[slot], slot, sweep(false));
    return adcliWords(document, why, show).told(found);
}

function adcliOfCopy(document, why, x, slot, sweep) {
    // what made the adjoint of a copy, which is what one operation sends to one of its arguments
    const row = document.table.adjoint.find(each => each.value === slot), args = document.operations[row?.op]?.args ?? [];
    const sent = args.flatMap(arg => (sweep.parts.get(arg.value) ?? []).filter(part => part.op === row.op && Object.is(part.value, x)));
    return sent.length ? why.madeBy(sent[0], sweep) : undefined;
}

function adcliExplainer(document, values) {
    const {operations, inputs, rules} = document;
    const defined = new Map(operations.flatMap((operation, op) => operation.outs.map(out => [out.value, op])));
    const names = new Map(inputs.map(input => [input.value, input.name]));
    const number = arg => arg.value === undefined ? Number(arg.constant) : values[arg.value];
    const numbers = op => operations[op].args.map(number);
    const result = op => values[operations[op].outs[0].value];
    const rule = op => rules[operations[op].rule];

    function run(made, op, seed, shared) {
        const args = numbers(op);
        return adcliResults(made.tape, [seed, result(op), ...made.reads.map(i => i < 0 ? shared : args[i])]);
    }
    function contribution(op, position, seed) {
        // what the map of one argument makes of a seed; undefined where that does not exist
        const {maps, many} = rule(op);
        if (!maps[position]) return undefined;
        const [value, exists] = run(maps[position], op, seed, many && run(many, op, 0)[0]);
        return exists === 0 ? undefined : value;
    }
    function level(op) {
        // the worst status that an operation meets
        return Math.max(0, ...rule(op).status.filter(status => run(status, op, 0)[0]).map(status => status.level));
    }

    function sweep(forward, chosen) {
        // the tangents or adjoints that exist, by the place of the value, with the parts that each is the sum of
        const word = forward ? "tangent" : "adjoint", known = new Map(), parts = new Map();
        const {index} = typeof chosen === "number" ? {index: chosen} : chosen;
        const first = (forward ? inputs : document.outputs)[index];
        if (first.value !== undefined) known.set(first.value, 1);
        function receive(target, op, position, source, value) {
            known.set(target, known.has(target) ? value + known.get(target) : value);
            parts.set(target, [...parts.get(target) ?? [], {op, position, source, seed: known.get(source), value}]);
        }
        function carry(op, position, source, targets) {
            const made = known.has(source) ? contribution(op, position, known.get(source)) : undefined;
            if (made !== undefined) for (const target of targets) receive(target, op, position, source, made);
        }
        for (let k = 0; k < operations.length; k++) {
            const op = forward ? k : operations.length - 1 - k, {args, outs} = operations[op];
            const at = outs.map(out => out.value);
            if (forward) args.forEach((arg, i) => arg.value !== undefined && carry(op, i, arg.value, at));
            else if (at.length > 1) {
                const copied = at.flatMap(out => parts.get(out) ?? []), target = args[0].value;
                for (const out of at) if (known.has(out)) receive(target, op, 0, out, known.get(out));
                parts.set(target, [...(parts.get(target) ?? []).filter(part => part.op !== op), ...copied]);
            } else for (const target of new Set(args.map(arg => arg.value))) {
                for (let i = args.length - 1; i >= 0; i--) if (target !== undefined && args[i].value === target) carry(op, i, at[0], [target]);
            }
        }
        return {forward, word, known, parts};
    }

    // ---- questions {slot, sweep?} or {constant}, and causes {kind, op?, position?, …}

    const question = arg => arg.value === undefined ? {constant: Number(arg.constant)} : {slot: arg.value};
    const real = op => operations[op].args.filter((arg, i) => rule(op).kinds[i] === "r");
    const where = (op, holds) => real(op).filter(arg => holds(number(arg))).map(question);
    const infinite = x => Math.abs(x) === Infinity, zero = x => x === 0, missing = x => Number.isNaN(x);

    function cause(asked) {
        // what made a number so; undefined for a zero that has no plain reason
        for (;;) {
            const step = asked.sweep ? linear(asked.slot, asked.sweep) : primal(asked);
            if (!step || step.kind) return step;
            asked = step;
        }
    }
    function primal({slot, constant}) {
        if (slot === undefined) return {kind: "constant", value: constant};
        const op = defined.get(slot), x = values[slot];
        if (op === undefined) return {kind: "input", name: names.get(slot), value: x};
        const {name} = rule(op), args = operations[op].args;
        if (name === "select") return question(number(args[0]) ? args[1] : args[2]);
        if (name === "dup") return question(args[0]);
        return missing(x) ? primalNan(op, name) : infinite(x) ? primalInfinite(op, name) : primalZero(op, name, x);
    }
    function primalNan(op, name) {
        const passed = where(op, missing), large = where(op, infinite), none = where(op, zero);
        if (passed.length) return passed[0];
        if (["mul", "fma"].includes(name) && large.length && none.length) return {kind: "0·inf", op, because: [none[0], large[0]]};
        if (name === "div") return none.length ? {kind: "0/0", op, because: none} : {kind: "inf/inf", op, because: large};
        if (["add", "sub", "fma"].includes(name) && large.length) return {kind: "inf-inf", op, because: large};
        return {kind: "domain", op, because: large};
    }
    function primalInfinite(op, name) {
        const none = where(op, zero), large = where(op, infinite), args = real(op);
        if (name === "div" && number(args[1]) === 0) return {kind: "pole", op, because: [question(args[1])]};
        if (large.length) return large[0];
        const worst = level(op);
        if (worst === ADCLI_SINGULAR || worst === ADCLI_POLE) {
            return {kind: worst === ADCLI_POLE ? "pole" : "singular", op, because: none.slice(0, 1)};
        }
        return {kind: "overflow", op, because: []};
    }
    function primalZero(op, name, x) {
        if (x === 0 && ["add", "sub"].includes(name) && where(op, zero).length < 2) return {kind: "cancellation", op, because: []};
        return undefined;
    }
    function linear(slot, sweep) {
        const x = sweep.known.get(slot), parts = sweep.parts.get(slot) ?? [];
        if (x === undefined || Number.isFinite(x)) return undefined;
        if (!parts.length) return {kind: "constant", value: x};
        if (missing(x)) return linearNan(sweep, parts);
        const guilty = parts.find(part => infinite(part.value));
        return guilty ? partInfinite(sweep, guilty) : made("overflow", sweep, parts.at(-1));
    }
    function made(kind, sweep, {op, position, seed}, because = [], others = 0) {
        return {kind, op, position, sweep: sweep.word, seed, partial: contribution(op, position, 1), because, others};
    }
    function linearNan(sweep, parts) {
        const part = parts.find(each => missing(each.value));
        if (!part) {
            const large = parts.filter(each => infinite(each.value)), [first] = large;
            return made("inf-inf", sweep, first, infinite(first.seed) ? [{slot: first.source, sweep}] : operandInfinite(first), large.length - 1);
        }
        const {op, position, source, seed} = part, from = {slot: source, sweep};
        if (missing(seed)) return from;
        const partial = contribution(op, position, 1), all = [...operations[op].args, operations[op].outs[0]];
        if (missing(partial)) {
            const passed = all.filter(arg => missing(number(arg)));
            return passed.length ? question(passed[0]) : made("undefined", sweep, part);
        }
        if (seed === 0 && infinite(partial)) return made("0·inf", sweep, part, [from, ...operandInfinite(part)]);
        if (infinite(seed) && partial === 0) return made("inf·0", sweep, part, [from, ...first(part, zero)]);
        return made("undefined", sweep, part, infinite(seed) ? [from] : []);
    }
    function partInfinite(sweep, part) {
        const {op, position, source, seed} = part;
        if (infinite(seed)) return {slot: source, sweep};
        const partial = contribution(op, position, 1), worst = level(op);
        if (worst === ADCLI_SINGULAR || worst === ADCLI_POLE) {
            return made(worst === ADCLI_POLE ? "pole" : "singular", sweep, part, first(part, zero));
        }
        if (infinite(partial)) {
            const large = [...operations[op].args, operations[op].outs[0]].filter(arg => infinite(number(arg)));
            if (large.length) return question(large[0]);
            if (where(op, zero).length) return made("singular", sweep, part, first(part, zero));
        }
        return made("overflow", sweep, part);
    }
    function operandInfinite(part) {
        const large = first(part, infinite);
        return large.length ? large : first(part, zero);
    }
    function first({op, position}, holds) {
        const {args} = operations[op], {name, kinds} = rule(op);
        const order = name === "div" ? [1, 0] : [...args.keys()].filter(i => i !== position).concat(position);
        return order.filter(i => kinds[i] === "r" && holds(number(args[i]))).slice(0, 1).map(i => question(args[i]));
    }

    function madeBy(part, sweep) {
        const step = missing(part.value) ? linearNan(sweep, [part]) : partInfinite(sweep, part);
        return step?.kind ? step : cause(step);
    }

    return {sweep, cause, madeBy, defined, names, number, numbers, result, rule, values};
}

function adcliWords(document, why, show) {
    const {operations, words} = document;
    const filled = (sentence, said) => words.sentences[sentence].replace(/\{(\w+)\}/g, (_, key) => said[key]);

    function written(op) {
        const text = operations[op].text.trim().split(/\s+/).join(" ");
        return [...text].length <= ADCLI_LONGEST ? text : [...text].slice(0, ADCLI_LONGEST - 1).join("") + "…";
    }
    function named(arg, inside) {
        if (arg.value === undefined && arg.slot === undefined) return null;
        const slot = arg.value ?? arg.slot, op = why.defined.get(slot);
        if (op === undefined) return why.names.get(slot);
        const out = operations[op].outs.find(each => each.value === slot);
        const same = inside !== undefined && ["text", "line", "column"].every(key => operations[op][key] === operations[inside][key]);
        return same && out.temporary ? null : out.temporary ? written(op) : out.written ?? out.name;
    }
    function at(op) {
        const {args} = operations[op], few = args.length <= 8 ? args : args.slice(0, 3), letters = "uvw";
        const said = few.flatMap((arg, i) => {
            if (why.rule(op).fixed.includes(i)) return [];
            const name = named(arg, op), x = why.rule(op).kinds[i] === "t" ? String(Boolean(why.number(arg))) : show(why.number(arg));
            return `${letters[i] ?? `u${i}`} = ${name === null ? "" : `${name} = `}${x}`;
        });
        return `at ${[...said, ...few.length < args.length ? ["…"] : []].join(", ")}`;
    }
    function sentence(cause) {
        const {kind, op, position} = cause;
        if (op === undefined) return filled(kind, {name: cause.name, value: show(cause.value)});
        const rule = why.rule(op), said = {operation: rule.operation, at: at(op), sweep: cause.sweep};
        if (position === undefined) {
            const form = words.forms.includes(kind) ? "form" : "result", {args} = operations[op];
            const same = args[0].value !== undefined && args[0].value === args.at(-1).value;
            const how = kind === "pole" && rule.name === "div" ? "division"
                : kind === "domain" && cause.because.length && rule.periodic ? "no limit" : kind === "cancellation" && same ? "itself" : kind;
            return filled(form, {...said, result: show(why.result(op)), how: words.how[how]});
        }
        Object.assign(said, {partial: rule.partials[position], value: show(cause.partial ?? 0), seed: show(cause.seed)});
        if (kind === "0·inf" || kind === "inf·0") return filled("meets", {...said, how: words.how[kind]});
        if (cause.partial === 0) said.value = show(0);   // the sign of a zero says nothing here
        if (words.terms[kind]) return filled("terms", {...said, count: cause.others + 1, end: words.terms[kind]});
        const plain = kind === "undefined" ? !Number.isFinite(cause.partial) : words.partials[kind];
        if (plain) return filled("partial", {...said, end: words.partials[kind]});
        if (Number.isFinite(cause.partial) && cause.partial !== 0) return filled("product", {...said, end: words.products[kind]});
        return filled("extreme", {...said, how: words.how[cause.partial === 0 ? "underflow" : "overflow"]});
    }
    function since(cause, depth = 0) {
        let text = sentence(cause);
        if (cause.op !== undefined) text += ` (${document.name}:${operations[cause.op].line}:${operations[cause.op].column})`;
        const [asked] = cause.because ?? [];
        if (asked && (asked.sweep || why.defined.has(asked.slot)) && depth < ADCLI_DEEPEST) {
            const inner = why.cause(asked);
            if (inner) text += filled("since", {cause: since(inner, depth + 1)});
        }
        return text;
    }
    function told(cause) {
        // the sentence for a cause, then one for each number that it has from elsewhere
        if (!cause) return [];
        const lines = [sentence(cause)];
        for (const asked of cause.because ?? []) {
            const found = why.cause(asked);
            if (found && asked.sweep) {
                lines.push(filled("because derivative", {sweep: asked.sweep.word, value: show(asked.sweep.known.get(asked.slot)), cause: since(found)}));
            } else if (found && why.defined.has(asked.slot)) {
                lines.push(filled("because value", {name: named(asked, cause.op) ?? "that", value: show(why.values[asked.slot]), cause: since(found)}));
            }
        }
        return lines;
    }
    return {told};
}
