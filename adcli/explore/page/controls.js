// The inputs with their sliders, the choice of the sweep and its seed, and the results.

import {byId, el, mark} from "./dom.js";
import {number, parsed} from "./numbers.js";
import {shown} from "./words.js";

const STEPS = 200;

/** A field and a slider for every input of a number; `choose` changes the state. */
export function inputs(model, state, choose) {
    const rows = model.inputs.map((input, i) => {
        const set = (x) => choose((now) => ({at: now.at.map((old, k) => (k === i ? x : old))}));
        return input.shape.length ? null : row(input, i, set);
    });
    byId("inputs").append(...rows.filter(Boolean).map((each) => each.element));
    if (rows.includes(null)) byId("inputs").append(el("p", {class: "note"}, "The elements of tensors are changed in the pane Tensors."));
    return (now) => rows.forEach((each, i) => each && each.update(now.at[i]));
}

function row(input, i, set) {
    const [low, high] = ends(input), step = rounded((high - low) / STEPS);
    const fault = el("p", {class: "fault", id: `fault-${i}`, hidden: true}, "Write a number, such as 2.5, 1e-3, inf or nan.");
    const field = el("input", {type: "text", id: `input-${i}`, autocomplete: "off", spellcheck: "false",
        "aria-describedby": `fault-${i}`, oninput: () => typed(), onblur: () => { field.value = exact(value); typed(); }});
    const slider = el("input", {type: "range", min: low, max: high, step, "aria-label": `${input.name}, slider`,
        oninput: () => set(onGrid(Number(slider.value), step, low, high))});
    let value = input.start;

    function typed() {
        const x = parsed(field.value);
        mark(field, "aria-invalid", x === undefined);
        fault.hidden = x !== undefined;
        if (x !== undefined && !Object.is(x, value)) set(x);
    }

    function update(x) {
        value = x;
        slider.value = x;
        slider.setAttribute("aria-valuetext", number(x));
        if (document.activeElement !== field) {
            field.value = exact(x);
            mark(field, "aria-invalid", false);
            fault.hidden = true;
        }
    }
    const known = input.low !== null && input.high !== null;
    const element = el("div", {class: "input"}, el("label", {for: `input-${i}`}, input.name), field, slider,
        el("div", {class: "ends"}, el("span", {}, number(low)), known ? null : el("span", {}, "no range declared"), el("span", {}, number(high))),
        fault);
    return {element, update};
}

/** A number as it was given, as short as it is exact. */
function exact(x) {
    return Number.isFinite(x) && Math.abs(x) < 1e6 && !Object.is(x, -0) ? String(x) : number(x);
}

/** The ends of a slider: the declared range, else one around the value that is there at first. */
function ends(input) {
    const size = Number.isFinite(input.start) && input.start !== 0 ? rounded(3.999 * Math.abs(input.start)) : 10;
    const low = input.low ?? (input.high === null ? -size : input.high - 2 * size);
    const high = input.high ?? (input.low === null ? size : low + 2 * size);
    return [Math.max(low, -1e300), Math.min(high, 1e300)];
}

/** A step of 1, 2 or 5 times a power of ten. */
function rounded(step) {
    if (!(step > 0) || !Number.isFinite(step)) return "any";
    const power = 10 ** Math.floor(Math.log10(step)), digit = step / power;
    return (digit < 2 ? 1 : digit < 5 ? 2 : 5) * power;
}

/** The place of a slider as a number of few digits. */
function onGrid(x, step, low, high) {
    if (step === "any") return x;
    const near = Number((Math.round(x / step) * step).toPrecision(12));
    return Math.min(high, Math.max(low, near));
}

/** Forward along one input, or reverse from one output. */
export function seeds(model, choose) {
    const fill = (names) => names.map((name) => el("option", {value: name}, name));
    const select = el("select", {id: "seed", onchange: () => choose((now) => ({[now.mode]: select.value, step: now.step}))});
    const label = el("label", {for: "seed"});
    const modes = ["forward", "reverse"].filter((mode) => model.seeds[mode].length).map((mode) => el("label", {},
        el("input", {type: "radio", name: "mode", value: mode, onchange: () => choose({mode, step: 0, shown: false})}),
        mode === "forward" ? "Forward" : "Reverse"));
    byId("seeds").append(el("fieldset", {class: "choice"}, el("legend", {class: "unseen"}, "Sweep"), modes),
        el("div", {class: "seed"}, label, select));
    let filledFor = "";
    return (state) => {
        for (const each of modes) each.firstChild.checked = each.firstChild.value === state.mode;
        label.textContent = state.mode === "forward" ? "Tangent 1 at input" : "Adjoint 1 at output";
        if (filledFor !== state.mode) select.replaceChildren(...fill(model.seeds[state.mode]));
        filledFor = state.mode;
        select.value = state[state.mode];
    };
}

/** The outputs and the derivatives, as far as they are reached. */
export function results(model) {
    const box = byId("results");
    return (state, values) => {
        const body = (rows) => el("tbody", {}, rows.map(([name, x]) => el("tr", {}, el("th", {scope: "row"}, name), el("td", {}, shown(x)))));
        const {outputs, derived, status} = model.results(state, values);
        box.replaceChildren(el("table", {class: "results"}, body(outputs), body(derived)),
            ...(status ? [el("p", {class: "status"}, "Status: ", el("strong", {}, status))] : []));
    };
}
