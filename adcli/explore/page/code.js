// A program as its lines: what comes of an operation is marked by the number of the operation, and shows its value beside it.

import {el} from "./dom.js";
import {pane} from "./panes.js";
import {windowed} from "./windowed.js";
import {shown} from "./words.js";

/** The pane of a program. */
export function code(model, program) {
    const box = pane(program.key, program.title, program.about, []);
    let built, place, list;
    return (state, values) => {
        if (built !== state.style) {
            const lines = program.lines(state.style);
            place = placed(lines);
            list = windowed(lines.length, {
                row: (i) => row(lines[i], i), wrap: (button) => el("li", {}, el("span"), button),
                draw: (rows) => box.replaceChildren(el("ol", {class: "code"}, rows)),
            });
            built = state.style;
        }
        list(values, place(model.steps(state)[state.step - 1]));
    };
}

/** Where the line of a step is: one of its kind, else the first of its operation; before any step, the first of any. */
function placed(lines) {
    const place = new Map(), set = (key, i) => place.has(key) || place.set(key, i);
    lines.forEach((line, i) => {
        for (const op of line.ops) {
            set("", i);
            set(`${op}`, i);
            set(`${op} ${line.kind}`, i);
        }
    });
    return (step) => place.get(step ? `${step.op} ${step.kind}` : "") ?? place.get(`${step?.op}`) ?? -1;
}

/** A line, and what fills in its values. */
function row(line, i) {
    const seen = el("span", {class: "seen"});
    const element = el("li", {"data-kind": line.kind, "data-op": line.ops.join(" ") || null},
        el("span", {class: "count", "aria-hidden": "true"}, String(i + 1)),
        el("span", {class: "text"}, line.spans ? pieces(line.text, line.spans) : line.text), seen);
    const filled = (values) => line.values.flatMap((entry, k) => [k ? ", " : "", shown(values.of(entry))]);
    return [element, (values) => seen.replaceChildren(...filled(values))];
}

/** A line of text with its parts that are operations, which may lie in each other: [start, end, operation], outer ones first. */
function pieces(text, spans) {
    const nested = (from, to, inside) => {
        const made = [];
        let at = from;
        for (let i = 0; i < inside.length;) {
            const [start, end, op] = inside[i];
            let next = i + 1;
            while (next < inside.length && inside[next][0] < end) next++;
            made.push(text.slice(at, start), el("span", {"data-op": op}, nested(start, end, inside.slice(i + 1, next))));
            at = end;
            i = next;
        }
        return [...made, text.slice(at, to)];
    };
    const outerFirst = [...spans].sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    return nested(0, text.length, outerFirst);
}
