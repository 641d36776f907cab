// Numbers as text, and texts as numbers.

const DIGITS = 6;

/** A number to 6 digits, as printf's %.6g writes it; a truth value as a word. */
export function number(x) {
    if (typeof x === "boolean") return String(x);
    if (Number.isNaN(x)) return "nan";
    if (!Number.isFinite(x)) return x > 0 ? "inf" : "-inf";
    if (x === 0) return Object.is(x, -0) ? "-0" : "0";
    const [digits, power] = x.toExponential(DIGITS - 1).split("e");
    const exponent = Number(power);
    if (exponent < -4 || exponent >= DIGITS) {
        const size = String(Math.abs(exponent)).padStart(2, "0");
        return `${trimmed(digits)}e${exponent < 0 ? "-" : "+"}${size}`;
    }
    return trimmed(x.toFixed(DIGITS - 1 - exponent));
}

function trimmed(text) {
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** The number that a text says, also inf and nan; undefined where it says none. */
export function parsed(text) {
    const word = text.trim().toLowerCase().replace(/^\+/, "").replace("−", "-");
    if (word === "nan") return NaN;
    if (/^-?(inf|infinity|∞)$/.test(word)) return word.startsWith("-") ? -Infinity : Infinity;
    return /^-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/.test(word) ? Number(word) : undefined;
}

/** Whether a guess is right: to one percent; of what is not finite, the same. */
export function near(guess, truth) {
    if (typeof truth === "object") return false;
    if (typeof truth === "boolean") return Boolean(guess) === truth;
    if (Number.isNaN(truth) || !Number.isFinite(truth)) return Object.is(guess, truth);
    return truth === 0 ? Math.abs(guess) < 1e-9 : Math.abs(guess - truth) <= 0.01 * Math.abs(truth);
}

/** What is wrong with a value: a word, or nothing. */
export function trouble(x) {
    if (x?.data) return [...x.data].map(trouble).find(Boolean) ?? "";
    if (typeof x !== "number") return "";
    return Number.isNaN(x) ? "not a number" : Number.isFinite(x) ? "" : "infinite";
}
