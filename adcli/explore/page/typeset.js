// Formulas of LaTeX, as adcli writes them, as elements of MathML, which browsers set without a library.

import {mathml} from "./dom.js";

const TOKENS = /\\[a-zA-Z]+|\\.|\d[\d.]*(?:e[-+]?\d+)?|\p{L}+|\S/gu;
const SIGNS = {cdot: "⋅", le: "≤", ge: "≥", ne: "≠", vee: "∨", wedge: "∧", neg: "¬", lvert: "|", rvert: "|"};
const WORDS = ["arccos", "arcsin", "arctan", "cos", "cosh", "exp", "ln", "log", "max", "min", "sin", "sinh", "tan", "tanh"];
const LETTERS = {infty: "∞"};
const GREEK = `alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu
    nu xi omicron pi rho - sigma tau upsilon phi chi psi omega`;
for (const [i, name] of GREEK.split(/\s+/).entries()) {
    LETTERS[name] = String.fromCodePoint(0x3b1 + i);
    LETTERS[name[0].toUpperCase() + name.slice(1)] = String.fromCodePoint(0x391 + i);
}
const MARKS = {dot: "˙", bar: "¯"};

/** A formula as an element, with a text for where it cannot be set. */
export function typeset(latex, alttext) {
    return mathml("math", {alttext}, ...row(latex.match(TOKENS) ?? []));
}

/** What stands up to the end of a group, whose tokens it takes. */
function row(tokens) {
    const made = [];
    while (tokens.length && tokens[0] !== "}") {
        const token = tokens.shift();
        if (token !== "^" && token !== "_") {
            const before = made.at(-1), sign = token === "-" && (!before || /^[^)|\d\p{L}]$/u.test(before.textContent));
            made.push(sign ? mathml("mo", {form: "prefix"}, "−") : item(token, tokens));
            continue;
        }
        const base = made.pop() ?? mathml("mrow"), script = item(tokens.shift(), tokens);
        const both = base.localName === "msub" && token === "^", tag = token === "^" ? "msup" : "msub";
        made.push(both ? mathml("msubsup", {}, ...base.children, script) : mathml(tag, {}, base, script));
    }
    tokens.shift();
    return made;
}

function item(token, tokens) {
    const next = () => item(tokens.shift(), tokens), name = token.slice(1);
    if (token === "{") return grouped(row(tokens));
    if (token === "\\frac") return mathml("mfrac", {}, next(), next());
    if (token === "\\sqrt") return mathml("msqrt", {}, next());
    if (MARKS[name]) return mathml("mover", {accent: "true"}, next(), mathml("mo", {}, MARKS[name]));
    if (/^\\(math|text|operatorname)/.test(token)) return mathml(/^\\text$/.test(token) ? "mtext" : "mi", {}, word(tokens));
    if (LETTERS[name]) return mathml("mi", {}, LETTERS[name]);
    if (WORDS.includes(name)) {
        const space = /^[(_]/.test(tokens[0]) ? [] : [mathml("mspace", {width: "0.17em"})];
        return grouped([mathml("mi", {}, name), ...space]);
    }
    if (/^\d/.test(token)) return mathml("mn", {}, token);
    if (/^\p{L}/u.test(token)) return mathml("mi", {}, token);
    return mathml("mo", {}, token === "-" ? "−" : SIGNS[name] ?? (token.startsWith("\\") ? name.trim() : token));
}

const grouped = (made) => (made.length === 1 ? made[0] : mathml("mrow", {}, ...made));

/** The letters of a group, with blanks around words that join formulas. */
function word(tokens) {
    const made = [];
    tokens.shift();
    while (tokens.length && tokens[0] !== "}") made.push(tokens.shift().replace("\\", ""));
    tokens.shift();
    return ["if", "else"].includes(made.join("")) ? `\u2002${made[0]}\u2002` : made.join("");
}
