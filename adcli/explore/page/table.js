// The evaluation table: each operation with its value, and its tangent or adjoint beside it.

import {el} from "./dom.js";
import {pane} from "./panes.js";
import {windowed} from "./windowed.js";
import {OTHERWISE, shown} from "./words.js";

/** The pane of the table. */
export function table(model) {
    const box = pane("table", "Evaluation table", "", []);
    let built, list, place;
    return (state, values) => {
        const key = `${state.mode} ${state.notation}`;
        if (built !== key) {
            const rows = model.rows(state).flatMap((part, i) => part.map((each, k) => ({...each, first: i > 0 && k === 0})));
            place = new Map(rows.map((each, i) => [each.op, i]).reverse());
            list = windowed(rows.length, {
                row: (i) => row(model, state, rows[i]), wrap: (button) => el("tr", {}, el("td", {colspan: 5}, button)),
                draw: (made) => box.replaceChildren(framed(state, model.legend(state), made)),
            });
            built = key;
        }
        list(values, place.get(model.steps(state)[state.step - 1]?.op) ?? -1);
    };
}

/** A row, and what fills in its values. */
function row(model, state, each) {
    const named = (slot, name) => model.named(slot, state) ?? name;
    const value = el("td", {class: "value"}), derived = el("td", {class: "value derived"});
    const formula = each.row ? model.formula(each.row, state) : each.word, note = el("sup", {title: OTHERWISE}, " †");
    const element = el("tr", {"data-op": each.op, class: each.first ? "first" : null},
        el("th", {scope: "row"}, each.value === undefined ? each.name : named(each.value, each.name)),
        el("td", {class: "formula", title: formula}, each.row ? model.math(each.row, state) : formula), value, derived,
        el("td", {class: "formula derived"}, each.derived ? origin(model, state, each.derived) : "", note));
    return [element, (values) => {
        value.replaceChildren(shown(values.of(each)));
        derived.replaceChildren(...(each.derived ? [shown(values.of(each.derived))] : []));
        note.hidden = !(each.derived?.row && values.otherwise(each.derived.row));
    }];
}

/** What makes a tangent or an adjoint: a line of the derivative, a copy of another one or, under a condition, the seed. */
function origin(model, state, {value, row: by, made}) {
    if (made) return model.made(made, state);
    return by ? model.math(by, state, {named: true}) : `${model.named(value, state)}, the seed`;
}

function framed(state, legend, rows) {
    const reverse = state.mode === "reverse";
    const head = (text, numeric) => el("th", {scope: "col", class: numeric ? "value" : null}, text);
    return el("table", {class: "table", "data-mode": state.mode},
        el("caption", {}, reverse ? "Values downwards, adjoints upwards." : "Values and tangents downwards.",
            legend ? el("span", {class: "legend"}, legend) : null),
        el("thead", {}, el("tr", {}, head("Name"), head("Operation"), head("Value", true),
            head(reverse ? "Adjoint" : "Tangent", true), head("How it is made"))),
        el("tbody", {}, rows));
}
