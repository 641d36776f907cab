// The current step: forwards through the primal, backwards through the adjoints, one operation at a time.

import {byId, el, mark} from "./dom.js";
import {near, parsed} from "./numbers.js";
import {score} from "./quiz.js";
import {because, shown, spoken} from "./words.js";

const WORDS = {primal: "value", tangent: "tangent", adjoint: "adjoint"};

/** The buttons, the line of the step, and the guess; `go` moves to a step, `choose` changes the state. */
export function stepper(model, {go, choose}) {
    const where = el("p", {class: "where", id: "where"});
    const moves = [
        ["first", "|◀", "To the start", "Home"], ["back", "◀", "One step back", "←"],
        ["next", "▶", "One step on", "→"], ["last", "▶|", "To the end", "End"],
    ].map(([to, sign, title, key]) => el("button", {
        type: "button", id: to, title: `${title} (${key})`, "aria-label": title, "aria-keyshortcuts": KEYS[to],
        onclick: () => go(to),
    }, sign.replace(/[◀▶]/, "$&\uFE0E")));
    const predict = el("input", {type: "checkbox", id: "predict",
        onchange: () => choose({predict: predict.checked, shown: false})});
    const track = el("input", {type: "range", class: "track", min: 0, step: 1, "aria-label": "Step", id: "track",
        oninput: () => choose({step: Number(track.value), shown: false})});
    const equations = el("div", {class: "equations"});
    const reasons = el("div", {class: "because", id: "because", hidden: true});
    const answered = (letter) => choose(({answers}) => ({shown: true, answers: model.quiz ? answers + letter : ""}));
    const guessing = guess(answered);
    const counted = el("p", {class: "where", id: "score", hidden: !model.quiz});
    byId("stepper").append(
        el("div", {class: "step-head"}, where,
            el("label", {class: "tool", hidden: model.quiz}, predict, "Predict, then reveal"), counted,
            el("div", {class: "moves"}, moves)),
        track, equations, guessing.form, reasons);

    return (state, values) => {
        const steps = model.steps(state), step = steps[state.step - 1];
        moves[0].disabled = moves[1].disabled = state.step === 0;
        moves[2].disabled = moves[3].disabled = state.step === steps.length && (!state.predict || state.shown);
        track.max = steps.length;
        track.value = state.step;
        const place = step ? `${state.step} of ${steps.length}, ${model.named(step.value, state)}` : "start";
        track.setAttribute("aria-valuetext", place);
        predict.checked = state.predict;
        counted.textContent = score(state, steps.length);
        where.replaceChildren(...(step ? [
            "Step ", el("b", {}, String(state.step)), ` of ${steps.length} · `,
            el("span", {class: "way", "data-kind": step.kind}, WORDS[step.kind]),
        ] : [`Start · ${steps.length} steps`]));
        const hidden = Boolean(step) && state.predict && !state.shown;
        equations.replaceChildren(...(step ? equation(model, state, step, values, hidden) : opening(model, state)));
        guessing.update(step, hidden, step && values.at(step.value));
        const told = step && !hidden ? because(step, values) : [];
        reasons.replaceChildren(...told.map((text) => el("p", {}, text)));
        reasons.hidden = told.length === 0;
        mark(byId("step"), "data-hidden", hidden);
        return step ? sentence(model, state, step, values, hidden, told) : "";
    };
}

export const KEYS = {first: "Home", back: "ArrowLeft", next: "ArrowRight", last: "End"};

function opening(model, state) {
    const note = (text) => [el("p", {class: "note"}, text)];
    if (!model.steps(state).length) return note("Nothing is computed here: every output is an input or a constant.");
    const way = state.mode === "reverse"
        ? "The values come first, from the inputs to the outputs; then the adjoints, from the outputs back to the inputs."
        : "Each value comes with its tangent, from the inputs to the outputs.";
    return note(`${way} Go on with → or ▶.`);
}

/** q̄ = i2 × ī3 = 28 × 1 = 28; a comprehension has its numbers in the pane of tensors. */
function equation(model, state, step, values, hidden) {
    const formula = model.formula(step, state), numbers = model.filled(step, state, values);
    const value = hidden ? el("span", {class: "hidden-value"}, "?")
        : el("span", {class: "value", id: "value"}, shown(values.of(step)));
    const said = numbers === formula || numbers.includes("□") || step.formula[state.notation].length === 1;   // a copy, ȳ: its
    const between = said ? [] : [" = ", model.math(step, state, {values})];   // number is the result, which may be hidden
    const parts = step.whole ? [formula, " : ", value] : [model.math(step, state, {named: true}), ...between, " = ", value];
    return [el("p", {class: "equation", "data-kind": step.kind, "data-op": step.op}, parts)];
}

/** What a screen reader says of a step. */
function sentence(model, state, step, values, hidden, told) {
    const value = hidden ? "to be predicted" : spoken(values.of(step));
    return `${WORDS[step.kind]} ${model.statement(step, state)}: ${value}. ${told.join(" ")}`;
}

/** The form in which a learner types a number before it is shown; `answer` takes what became of it: r, l or s. */
function guess(answer) {
    let truth, asked, tries = 0, used = false;
    const field = el("input", {type: "text", id: "guess", autocomplete: "off", spellcheck: "false", inputmode: "text"});
    const verdict = el("span", {class: "verdict", id: "verdict", role: "status"});
    const check = el("button", {type: "submit", class: "main-button"}, "Check");
    const reveal = el("button", {type: "button", id: "reveal", onclick: () => answer("s")}, "Reveal");
    const prompt = el("label", {for: "guess"}, "Your prediction");
    const form = el("form", {class: "guess", hidden: true, onsubmit: judge}, prompt, field, check, reveal, verdict);

    function judge(event) {
        event.preventDefault();
        used = true;
        const given = parsed(field.value);
        if (given === undefined) return say(false, "Write a number, such as 2.5, 1e-3, inf or nan.");
        const right = near(given, truth);
        say(right, right ? "✓ Right, to 1 %." : "✗ Not within 1 %. Try again, or reveal it.");
        tries++;
        if (right) answer(tries > 1 ? "l" : "r");
        return undefined;
    }

    function say(right, text) {
        verdict.setAttribute("data-right", right);
        verdict.textContent = text;
    }

    function update(step, hidden, value) {
        const fresh = step !== asked;
        truth = value;
        if (fresh) {
            asked = step;
            tries = 0;
            field.value = "";
            verdict.textContent = "";
        }
        reveal.hidden = !hidden;
        for (const part of [prompt, field, check]) part.hidden = !hidden || typeof value === "object";
        form.hidden = !hidden && !verdict.textContent;
        if (fresh && hidden && used) field.focus({preventScroll: true});
    }
    return {form, update};
}
