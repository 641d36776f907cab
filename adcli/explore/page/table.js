// The evaluation table: each operation with its value, and its tangent or adjoint beside it.

import {el} from "./dom.js";
import {pane} from "./panes.js";
import {shown} from "./words.js";

/** The pane of the table. */
export function table(model) {
    const box = pane("table", "Evaluation table", "", []);
    let built = "", cells = [];
    return (state, values) => {
        const key = `${state.mode} ${state.notation}`;
        if (built !== key) {
            cells = [];
            box.replaceChildren(content(model, state, cells));
            built = key;
        }
        for (const [cell, entry] of cells) cell.replaceChildren(shown(values.of(entry)));
    };
}

function content(model, state, cells) {
    const reverse = state.mode === "reverse";
    const value = (entry, kind) => {
        const cell = el("td", {class: kind});
        if (entry) cells.push([cell, entry]);
        return cell;
    };
    const named = (slot, name) => model.named(slot, state) ?? name;
    const row = (each) => el("tr", {"data-op": each.op},
        el("th", {scope: "row"}, each.value === undefined ? each.name : named(each.value, each.name)),
        formula(each.row ? model.formula(each.row, state) : each.word), value(each, "value"),
        value(each.derived, "value derived"), el("td", {class: "formula derived"}, each.derived?.row ? equation(each.derived) : ""));
    const formula = (text) => el("td", {class: "formula", title: text}, text);
    const equation = ({value: slot, row: by}) => `${named(slot, "")} = ${model.formula(by, state)}`;
    const head = (text, numeric) => el("th", {scope: "col", class: numeric ? "value" : null}, text);
    const [given, made, results] = model.rows(state);
    return el("table", {class: "table", "data-mode": state.mode},
        el("caption", {}, reverse ? "Values downwards, adjoints upwards." : "Values and tangents downwards."),
        el("thead", {}, el("tr", {}, head("Name"), head("Operation"), head("Value", true),
            head(reverse ? "Adjoint" : "Tangent", true), head("How it is made"))),
        ...[given, made, results].map((part) => el("tbody", {}, part.map(row))));
}
