// What the reader has chosen, and its form in the address of the page: #at=x=2,y=5&reverse=v&step=3; elements of a tensor that
// have been changed are A=1;2;3

import {exact, parsed} from "./numbers.js";

/** A box for the state: `set` merges a change and tells everybody who listens. */
export function box(state) {
    const listeners = [];
    return {
        get: () => state,
        set(change) {
            state = {...state, ...change};
            for (const listener of listeners) listener(state);
        },
        listen: (listener) => listeners.push(listener),
    };
}

/** The state as the text behind the # of an address: numbers in full, names with what has a meaning here escaped. */
export function written(state, inputs) {
    const known = inputs.map((input, i) => [input, state.at[i]]).filter(([input, x]) => !input.shape.length || x !== input.start);
    const text = (x) => (typeof x === "object" ? [...x.data].map(exact).join(";") : exact(x));
    const at = known.map(([input, x]) => `${encodeURIComponent(input.name)}=${text(x)}`), seed = state[state.mode];
    return [
        ...(at.length ? [`at=${at.join(",")}`] : []),
        ...(seed === undefined ? [] : [`${state.mode}=${encodeURIComponent(seed)}`]),
        ...(state.element ? [`element=${state.element.join(",")}`] : []), `step=${state.step}`,
        ...(state.predict ? [`predict=${state.shown ? "shown" : "hidden"}`] : []),
        `notation=${state.notation}`, `style=${state.style}`, ...(state.folded ? [`folded=${state.folded.join(",")}`] : []),
        ...(state.answers ? [`answers=${state.answers}`] : []),
    ].join("&");
}

/** The change to the state that such a text asks for; what it has no meaning for is left out. */
export function read(text, inputs, seeds) {
    const change = {};
    for (const [key, value] of text.replace(/^#/, "").split("&").map((entry) => cut(entry, "="))) {
        if (key === "at") change.at = point(value, inputs);
        if (key === "element" && /^\d{1,6}(,\d{1,6})*$/.test(value)) change.element = value.split(",").map(Number);
        if (key === "step" && /^\d{1,9}$/.test(value)) change.step = Number(value);
        if (key === "folded") change.folded = value.split(",");
        if (key === "answers" && /^[rls]*$/.test(value)) change.answers = value;
        if (key === "style" || key === "notation") change[key] = value;
        if (key === "predict") Object.assign(change, {predict: true, shown: value === "shown"});
        if ((key === "forward" || key === "reverse") && seeds[key].includes(decoded(value))) {
            Object.assign(change, {mode: key, [key]: decoded(value)});
        }
    }
    return change;
}

/** Whether subscripts name an element of a tensor of this shape. */
export function within(element, shape) {
    return element.length === shape.length && element.every((i, d) => i >= 0 && i < shape[d]);
}

/** The numbers of the inputs, by position; undefined where the text has none for it. */
function point(text, inputs) {
    const entries = text.split(",").map((entry) => cut(entry, "="));
    const given = new Map(entries.map(([name, x]) => [decoded(name), decoded(x).split(";").map(parsed)]));
    return inputs.map(({name, shape, start}) => {
        const found = given.get(name) ?? [];
        if (found.includes(undefined) || found.length !== (shape.length ? start.data.length : 1)) return undefined;
        return shape.length ? {shape, data: Float64Array.from(found)} : found[0];
    });
}

function cut(text, mark) {
    const at = text.indexOf(mark);
    return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function decoded(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
}
