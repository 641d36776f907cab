// The inputs with their sliders, the choice of the sweep and its seed, and the results.

import {byId, el, mark} from "./dom.js";
import {exact, number, parsed} from "./numbers.js";
import {within} from "./state.js";
import {shown} from "./words.js";

const STEPS = 200, LARGEST = 1e300;

/** A field and a slider for every input of a number; `choose` changes the state. */
export function inputs(model, state, choose) {
    const rows = model.inputs.map((input, i) => {
        const set = (x) => choose((now) => ({at: now.at.map((old, k) => (k === i ? x : old))}));
        return input.shape.length || input.fixed ? null : row(input, i, set);
    });
    const fixed = model.inputs.filter((input) => input.fixed).map((input) => `${input.name} = ${number(input.start)}`);
    byId("fixed").hidden = !fixed.length;
    byId("fixed").textContent = `Sizes are made of ${fixed.join(", ")}: fixed on this page.`;
    byId("inputs").append(...rows.filter(Boolean).map((each) => each.element));
    const note = "The elements of tensors are changed in the pane Tensors.";
    if (model.inputs.some((input) => input.shape.length)) byId("inputs").append(el("p", {class: "note"}, note));
    return (now) => rows.forEach((each, i) => each && each.update(now.at[i]));
}

function row(input, i, set) {
    let low, high, step;
    const fault = el("p", {class: "fault", id: `fault-${i}`, role: "alert", hidden: true});
    const field = el("input", {type: "text", id: `input-${i}`, autocomplete: "off", spellcheck: "false",
        "aria-describedby": `fault-${i}`, oninput: () => typed(), onblur: () => { field.value = exact(value); typed(); }});
    const slider = el("input", {type: "range", "aria-label": `${input.name}, slider`,
        oninput: () => complain(set(onGrid(Number(slider.value), step, low, high))), onblur: () => update(value)});
    let value = input.start;

    function typed() {
        const x = parsed(field.value);
        if (x === undefined) complain("Write a number, such as 2.5, 1e-3, inf or nan.");
        else complain(Object.is(x, value) ? "" : set(x));
    }

    /** The slider reaches a value, as far as its range is open. */
    function reach(x) {
        [low, high] = ends(input, x);
        step = input.integer ? 1 : rounded((high - low) / STEPS);
        for (const [name, end] of Object.entries({min: low, max: high, step})) slider.setAttribute(name, end);
        below.textContent = number(low);
        above.textContent = number(high);
    }

    function complain(text) {
        mark(field, "aria-invalid", text);
        fault.hidden = !text;
        fault.textContent = text;
    }

    function update(x) {
        value = x;
        if (Number.isFinite(x) && (x < low || x > high)) reach(x);
        slider.value = x;
        slider.setAttribute("aria-valuetext", number(x));
        if (document.activeElement !== field) {
            field.value = exact(x);
            complain("");
        }
    }
    const open = [input.low, input.high].filter((x) => x === null).length;
    const [below, above] = [el("span"), el("span")];
    const about = [[], ["open range"], ["no range declared"]][open].map((text) => el("span", {}, text));
    reach(value);
    const element = el("div", {class: "input"}, el("label", {for: `input-${i}`}, input.name), field, slider,
        el("div", {class: "ends"}, below, about, above),
        fault);
    return {element, update};
}

/** The ends of a slider: the declared range, else one around a value. */
function ends(input, value) {
    const about = Math.min(Math.abs(value), LARGEST);
    const size = about > 0 ? rounded(3.999 * about) : 10;   // twice as far as the value is from 0, or somewhat more
    const far = (end) => 2 * Math.max(size, Math.abs(value - end));
    const low = input.low ?? (input.high === null ? -size : input.high - far(input.high));
    const high = input.high ?? (input.low === null ? size : low + far(low));
    return [Math.max(low, -LARGEST), Math.min(high, LARGEST)];
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

/** Forward along one input, or reverse from one output; of a tensor all elements, or one. */
export function seeds(model, choose) {
    const modes = ["forward", "reverse"].filter((mode) => model.seeds[mode].length).map((mode) => el("label", {},
        el("input", {type: "radio", name: "mode", value: mode,
            onchange: () => choose({mode, step: 0, shown: false, element: null})}),
        mode === "forward" ? "Forward" : "Reverse"));
    if (!modes.length) {
        byId("seeds").closest("section").hidden = true;
        return () => {};
    }
    const select = el("select", {id: "seed", onchange: () => choose((now) => ({[now.mode]: select.value, element: null}))});
    const label = el("label", {for: "seed"});
    const element = el("input", {type: "text", id: "element", placeholder: "all", autocomplete: "off",
        oninput: () => choose((now) => ({element: elementOf(element.value, model.seed(now).shape)}))});
    const only = el("label", {for: "element"}, "Its element");
    byId("seeds").append(el("fieldset", {class: "choice"}, el("legend", {class: "unseen"}, "Sweep"), modes),
        el("div", {class: "seed"}, label, select, only, element));
    let filledFor = "";
    return (state) => {
        for (const each of modes) each.firstChild.checked = each.firstChild.value === state.mode;
        label.textContent = state.mode === "forward" ? "Tangent 1 at input" : "Adjoint 1 at output";
        const names = model.seeds[state.mode];
        if (filledFor !== state.mode) select.replaceChildren(...names.map((name) => el("option", {value: name}, name)));
        filledFor = state.mode;
        select.value = state[state.mode];
        const {shape} = model.seed(state);
        only.hidden = element.hidden = shape.length === 0;
        element.setAttribute("aria-label", `Element of ${shape.join(" by ")}, subscripts from 0`);
        if (document.activeElement !== element) element.value = state.element ? state.element.join(", ") : "";
        mark(element, "aria-invalid", element.value.trim() !== "" && !state.element);
    };
}

/** Subscripts within a shape, as "0, 1" says them; null for anything else. */
function elementOf(text, shape) {
    const at = text.split(",").map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : NaN));
    return within(at, shape) ? at : null;
}

/** The outputs and the derivatives, as far as they are reached. */
export function results(model) {
    const box = byId("results");
    return (state, values) => {
        const line = ([name, x]) => el("tr", {}, el("th", {scope: "row"}, name), el("td", {}, shown(x)));
        const body = (rows) => el("tbody", {}, rows.map(line));
        const {outputs, derived, status} = model.results(state, values);
        box.replaceChildren(el("table", {class: "results"}, body(outputs), body(derived)),
            ...(status ? [el("p", {class: "status"}, "Status: ", el("strong", {}, status))] : []));
    };
}
