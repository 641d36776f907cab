// A program as its lines: what comes of an operation is marked by the number of the operation, and shows its value beside it.

import {el, reveal} from "./dom.js";
import {pane} from "./panes.js";
import {shown} from "./words.js";

/** The pane of a program. */
export function code(model, program) {
    const box = pane(program.key, program.title, program.about, []);
    let built, places = [];
    return (state, values) => {
        if (built !== state.style) {
            places = [];
            box.replaceChildren(el("ol", {class: "code"}, program.lines(state.style).map((line, i) => row(line, i, places))));
            reveal(box.querySelector("li[data-op]") ?? box, box);
            built = state.style;
        }
        for (const [entries, seen] of places) {
            seen.replaceChildren(...entries.flatMap((entry, i) => [i ? ", " : "", shown(values.of(entry))]));
        }
    };
}

function row(line, i, places) {
    const seen = el("span", {class: "seen"});
    if (line.values.length) places.push([line.values, seen]);
    return el("li", {"data-kind": line.kind, "data-op": line.ops.join(" ") || null},
        el("span", {class: "count", "aria-hidden": "true"}, String(i + 1)),
        el("span", {class: "text"}, line.spans ? pieces(line.text, line.spans) : line.text), seen);
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
