// Tensors: each comprehension beside its derivative, and small tensors as numbers on a ground that says how large they are.

import {el, mark} from "./dom.js";
import {number, parsed, trouble} from "./numbers.js";
import {pane} from "./panes.js";
import {sizes} from "./words.js";

const MOST = 400, EDITABLE = 100;

/** The pane of the tensors, where a program has any; the elements of small inputs can be changed. */
export function tensors(model, choose) {
    const entries = model.tensors;
    if (!entries.length) return () => {};
    const box = pane("tensors", "Tensors", "", []);
    let built, maps = [];
    return (state, values) => {
        const key = `${state.mode} ${state.notation}`;
        if (built !== key) {
            maps = [];
            const sections = entries.map((entry) => section(model, state, entry, maps, choose));
            box.replaceChildren(el("div", {class: "tensors"}, sections));
            built = key;
        }
        for (const [map, entry] of maps) map(values.of(entry));
    };
}

function section(model, state, entry, maps, choose) {
    const map = (each, name, kind, edit) => {
        const fault = el("p", {class: "fault", role: "alert", hidden: true});
        const complain = (text) => {
            fault.textContent = text;
            fault.hidden = !text;
            return text;
        };
        const [element, update] = heat(each.shape, edit && ((k) => field(`${name}(${subscripts(k, each.shape).join(", ")})`,
            (x) => complain(x === undefined ? "Write a number, such as 2.5, 1e-3, inf or nan." : choose(edit(x, k))))));
        maps.push([update, each]);
        const caption = el("figcaption", {}, name, " ", el("small", {}, sizes(each.shape)));
        return el("figure", {class: "tensor", "data-kind": kind}, caption, element, fault);
    };
    const way = model.way(state), slot = entry[way];
    const edit = entry.input === undefined || size(entry.shape) > EDITABLE ? null : (x, k) => (now) => ({
        at: now.at.map((old, i) => (i === entry.input ? {shape: old.shape, data: old.data.with(k, x)} : old)),
    });
    const derived = model.derivedTexts(entry, state), code = (kind, lines) => el("pre", {"data-kind": kind}, lines.join("\n"));
    return el("section", {class: "pair", "data-op": entry.op},
        entry.text ? el("div", {class: "both"}, code("primal", [entry.text]), derived.length ? code(way, derived) : null) : null,
        el("div", {class: "both"},
            map(entry, model.named(entry.value, state) ?? entry.name, "primal", edit),
            slot === undefined ? null : map({value: slot, shape: entry.shape}, model.named(slot, state), way)));
}

const size = (shape) => shape.reduce((product, extent) => product * extent, 1);

/** A table of numbers for each matrix of a tensor, and what fills it. `editable` makes the field of one. */
function heat(shape, editable) {
    const count = size(shape);
    if (count > MOST) return [el("p", {class: "note"}, `${count.toLocaleString("en")} numbers: too many to show`), () => {}];
    const columns = shape.at(-1), rows = shape.length > 1 ? shape.at(-2) : 1, cells = [];
    const matrices = Array.from({length: rows * columns ? count / (rows * columns) : 0}, (_, m) => {
        const cell = (k) => {
            cells[k] = editable ? editable(k) : el("td");
            return editable ? el("td", {}, cells[k]) : cells[k];
        };
        const line = (r) => el("tr", {}, Array.from({length: columns}, (_, c) => cell((m * rows + r) * columns + c)));
        const table = el("table", {class: "heat"}, Array.from({length: rows}, (_, r) => line(r)));
        const at = subscripts(m, shape.slice(0, -2));
        return at.length ? el("div", {}, el("p", {class: "index"}, `(${at.join(", ")}, ·, ·)`), table) : table;
    });
    return [el("div", {class: "matrices"}, matrices), (tensor) => fill(cells, tensor)];
}

/** The subscripts of the element at this place, the last running fastest. */
function subscripts(place, shape) {
    const at = [];
    for (const extent of [...shape].reverse()) {
        at.unshift(place % extent);
        place = Math.floor(place / extent);
    }
    return at;
}

/** The field of an element; `edit` changes it, or says why not, and it is left with the number that holds. */
function field(name, edit) {
    let known = "";
    const typed = () => {
        const fault = edit(parsed(input.value));
        mark(input, "aria-invalid", fault);
        if (!fault) known = input.value;
    };
    const left = () => {
        if (input.value === known) return;
        input.value = known;
        typed();
    };
    const input = el("input", {type: "text", "aria-label": name, spellcheck: "false", autocomplete: "off", oninput: typed,
        onfocus: () => { known = input.value; }, onblur: left});
    return input;
}

function fill(cells, tensor) {
    const data = tensor ? [...tensor.data] : [], finite = data.filter(Number.isFinite).map(Math.abs);
    const largest = Math.max(...finite, 0);
    cells.forEach((cell, k) => {
        const x = data[k], text = x === undefined ? "···" : `${trouble(x) ? "⚠\uFE0E" : ""}${number(x)}`;
        if (cell.tagName !== "INPUT") cell.textContent = text;
        else if (document.activeElement !== cell) cell.value = number(x);
        cell.style.setProperty("--share", `${Number.isFinite(x) && largest ? Math.round(50 * Math.abs(x) / largest) : 0}%`);
        cell.setAttribute("data-sign", x < 0 ? "-" : "+");
        if (trouble(x)) cell.setAttribute("title", trouble(x));
        else cell.removeAttribute("title");
    });
}
