// Values as people read them, with a sign where they are not finite, and the reasons for it.

import {el} from "./dom.js";
import {number, trouble} from "./numbers.js";

const FEW = 6;

/** A value as an element: what is not finite has a sign and a hatched ground. */
export function shown(x) {
    if (x === undefined) return el("span", {class: "hidden-value", "aria-label": "not reached yet"}, "···");
    const wrong = trouble(x);
    return wrong ? el("span", {class: "trouble", title: wrong}, spoken(x)) : document.createTextNode(spoken(x));
}

/** A value as text: a number, the elements of a small tensor, the shape of one that is not. */
export function spoken(x) {
    if (x === undefined) return "not reached yet";
    if (typeof x !== "object") return number(x);
    return x.data.length <= FEW ? `[${[...x.data].map(number).join(", ")}]` : x.shape.join("×");
}

/** Sentences about a value that is not finite: what made it. */
export function because(step, values) {
    return trouble(values.at(step.value)) ? values.why(step) : [];
}
