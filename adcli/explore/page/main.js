// The page: one state, and every pane a function of it.

import {code} from "./code.js";
import {inputs, results, seeds} from "./controls.js";
import {byId, el, mark, reveal} from "./dom.js";
import {graph} from "./graph.js";
import {modelOf} from "./model.js";
import {fold} from "./panes.js";
import {asked} from "./quiz.js";
import {box, read, within, written} from "./state.js";
import {KEYS, stepper} from "./stepper.js";
import {table} from "./table.js";
import {tensors} from "./tensors.js";

const SOON = 200, LONG = 200;   // lines of a derivative from which it begins folded
const model = modelOf(await adcliOpened(byId("document").textContent).catch((fault) => {
    byId("about").textContent = `This browser cannot open the page: ${fault.message}.`;
    throw fault;
}));
const state = box(started());

byId("name").textContent = document.title;
byId("about").textContent = model.about;
const panes = [
    inputs(model, state.get(), choose), seeds(model, choose), results(model), table(model), graph(model), tensors(model, choose),
    ...model.programs.map((program) => code(model, program)),
];
const step = stepper(model, {go, choose});
const long = model.programs.slice(1).filter(({lines}) => lines(model.styles[0]).length > LONG).map(({key}) => key);

// ---------------------------------------------------------------- the state

/** Change the state; where nothing can be computed then, it stays, and what is said is why. */
function choose(change) {
    const now = state.get(), next = valid(typeof change === "function" ? change(now) : change);
    const fault = model.fault({...now, ...next});
    if (!fault) state.set(next);
    return fault;
}

function started() {
    const [style] = model.styles, [notation] = model.notations;
    const first = {...model.start, step: 0, element: null, predict: model.quiz, shown: false, style, notation, folded: null,
        answers: ""};
    const linked = {...first, ...valid(read(location.hash, model.inputs, model.seeds), first)};
    return model.fault(linked) ? {...linked, at: first.at} : linked;
}

/** A change without what no program has: numbers that are missing, steps beyond the last, unknown styles. */
function valid(change, now = state.get()) {
    const next = {...change};
    if (next.at) next.at = next.at.map((x, i) => (x === undefined || model.inputs[i].fixed ? now.at[i] : x));
    if (next.element && !within(next.element, model.seed({...now, ...next}).shape)) next.element = null;
    if (!model.styles.includes(next.style)) delete next.style;
    if (!model.notations.includes(next.notation)) delete next.notation;
    const steps = model.steps({...now, ...next}).length;
    if ((next.step ?? now.step) > steps) next.step = steps;
    return model.quiz ? asked(now, next) : next;
}

/** Move to a step; where its value is to be predicted, the way on shows it first. */
function go(to) {
    const now = state.get(), last = model.steps(now).length;
    if (to === "next" && now.predict && !now.shown && now.step > 0) return choose({shown: !model.quiz});
    const at = {first: 0, back: Math.max(0, now.step - 1), next: Math.min(last, now.step + 1), last}[to];
    return choose({step: at, shown: to === "last"});
}

// ---------------------------------------------------------------- what is shown

let later, announced, followed, unfolded;

function show(now) {
    const values = model.evaluated(now);
    for (const pane of panes) pane(now, values);
    const said = step(now, values);
    if (said !== announced) byId("said").textContent = announced = said;
    const current = model.steps(now)[now.step - 1];
    light("data-now", current ? [current.op] : []);
    document.body.setAttribute("data-way", current ? current.kind : "");
    fold(now.folded ?? long);
    if (current && (current !== followed || now.folded !== unfolded)) follow(current);
    [followed, unfolded] = [current, now.folded];
    clearTimeout(later);
    later = setTimeout(() => remember(written(now, model.inputs)), SOON);
}

/** Put a state into the address, where the page has one of its own, which it has not within another. */
function remember(text) {
    try {
        history.replaceState(null, "", `#${text}`);
    } catch (fault) {
        if (fault.name !== "SecurityError") throw fault;
    }
}

/** Mark operations in every pane. */
function light(name, ops) {
    for (const each of document.querySelectorAll(`[${name}]`)) mark(each, name, false);
    for (const op of ops) {
        for (const each of document.querySelectorAll(`[data-op~="${op}"], [data-edge="${op}"]`)) mark(each, name, true);
    }
}

/** Bring the line of a step into view in every pane. */
function follow(step) {
    for (const each of document.querySelectorAll(".box:not([hidden])")) {
        const lines = [...each.querySelectorAll(`[data-op~="${step.op}"]`)];
        const line = lines.find((one) => one.getAttribute("data-kind") === step.kind) ?? lines[0];
        if (line) reveal(line, each);
    }
}

// ---------------------------------------------------------------- pointer and keyboard

const opsOf = (event) => event.target.closest?.("[data-op]")?.getAttribute("data-op").split(" ") ?? [];
document.addEventListener("pointerover", (event) => light("data-hover", opsOf(event)));
document.addEventListener("focusin", (event) => light("data-hover", opsOf(event)));
byId("panes").addEventListener("click", (event) => {
    const pane = event.target.closest("h2")?.parentElement.getAttribute("data-pane");
    if (pane) {
        choose(({folded}) => ({folded: (folded ?? long).includes(pane) ? (folded ?? long).filter((key) => key !== pane)
            : [...folded ?? long, pane]}));
        return;
    }
    const ops = opsOf(event), at = model.steps(state.get()).findIndex((each) => ops.includes(String(each.op)));
    if (at >= 0) choose({step: at + 1, shown: false});
});
document.addEventListener("keydown", (event) => {
    const to = Object.keys(KEYS).find((name) => KEYS[name] === event.key);
    const field = event.target.closest("input, select, textarea"), free = !field || (field.id === "guess" && field.value === "");
    if (!to || !free || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    go(to);
});
byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("step").focus();
});
addEventListener("hashchange", () => choose(read(location.hash, model.inputs, model.seeds)));

// ---------------------------------------------------------------- tools

const CHOICES = {
    notation: {unicode: "Mathematics", plain: "As in programs"},
    style: {math: "Mathematics", nested: "Nested", anf: "One operation per line", prefix: "Prefix calls"},
};

function choices() {
    for (const [key, words] of Object.entries(CHOICES)) {
        const select = byId(key), names = model[`${key}s`];
        select.append(...names.map((name) => el("option", {value: name}, words[name] ?? name)));
        select.closest("label").hidden = names.length < 2;
        select.addEventListener("change", () => choose({[key]: select.value}));
        state.listen((now) => { select.value = now[key]; });
    }
}

function tools() {
    byId("print").addEventListener("click", () => print());
    byId("copy").addEventListener("click", () => {
        const text = written(state.get(), model.inputs), link = `${location.href.replace(/#.*/, "")}#${text}`;
        const said = (words) => {
            byId("copy").textContent = words;
            setTimeout(() => { byId("copy").textContent = "Copy link"; }, 1500);
        };
        remember(text);
        const copied = navigator.clipboard?.writeText(link) ?? Promise.reject(new Error("no clipboard"));
        copied.then(() => said("Copied"), () => said("It is in the address"));
    });
    const system = matchMedia("(prefers-color-scheme: dark)");
    let chosen;
    const dress = () => {
        const dark = chosen ?? system.matches;
        document.documentElement.setAttribute("data-theme", dark ? "dark" : "light");
        byId("theme").setAttribute("aria-pressed", dark);
    };
    system.addEventListener("change", dress);
    byId("theme").addEventListener("click", () => {
        chosen = !(chosen ?? system.matches);
        dress();
    });
    dress();
}

choices();
tools();
state.listen(show);
show(state.get());
