// Values as people read them, with a sign where they are not finite, and the reasons for it.

import {el} from "./dom.js";
import {number, trouble} from "./numbers.js";

const LONGEST = 26;

/** A value as an element: what is not finite has a sign and a hatched ground. */
export function shown(x) {
    if (x === undefined) return el("span", {class: "hidden-value", role: "img", "aria-label": "not reached yet"}, "···");
    const wrong = trouble(x);
    return wrong ? el("span", {class: "trouble", title: wrong}, spoken(x)) : document.createTextNode(spoken(x));
}

/** A value as text: a number, the elements of a small tensor, the shape of one that is not. */
export function spoken(x) {
    if (x === undefined) return "not reached yet";
    if (typeof x !== "object") return number(x);
    const text = x.data.length < LONGEST ? `[${[...x.data].map(number).join(", ")}]` : "";
    return text && text.length <= LONGEST ? text : sizes(x.shape);
}

/** A shape in words: 2×3, of a vector 3 numbers. */
export function sizes(shape) {
    return shape.length === 1 ? `${shape[0]} ${shape[0] === 1 ? "number" : "numbers"}` : shape.join("×");
}

export const OTHERWISE = "At this point the evaluation takes another case of the rule than this formula has.";

/** Sentences about a value: that its formula is not what was evaluated, and of one that is not finite what made it. */
export function because(step, values) {
    return [...(values.otherwise(step) ? [OTHERWISE] : []), ...(trouble(values.at(step.value)) ? values.why(step) : [])];
}
