// Numbers as text, and texts as numbers.

const DIGITS = 6;

/** A number to 6 digits, as printf's %.6g writes it; a truth value as a word. */
export function number(x) {
    if (typeof x === "boolean") return String(x);
    if (Number.isNaN(x)) return "nan";
    if (!Number.isFinite(x)) return x > 0 ? "inf" : "-inf";
    if (x === 0) return Object.is(x, -0) ? "-0" : "0";
    const sign = x < 0 ? "-" : "", [digits, exponent] = rounded(Math.abs(x));
    if (exponent < -4 || exponent >= DIGITS) {
        const size = String(Math.abs(exponent)).padStart(2, "0");
        return `${sign}${trimmed(`${digits[0]}.${digits.slice(1)}`)}e${exponent < 0 ? "-" : "+"}${size}`;
    }
    const whole = exponent < 0 ? "0" : digits.slice(0, exponent + 1);
    const rest = exponent < 0 ? "0".repeat(-exponent - 1) + digits : digits.slice(exponent + 1);
    return sign + trimmed(`${whole}.${rest}`);
}

/** A number with all its digits, as a field or an address has it. */
export function exact(x) {
    return Number.isFinite(x) && !Object.is(x, -0) ? String(x) : number(x);
}

/** The leading digits of a positive number and its power of ten; halves go to the even digit, as in C. */
function rounded(x) {
    const split = (text) => [text.replace(/e.*|\./g, ""), Number(text.slice(text.indexOf("e") + 1))];
    const [exact, power] = split(x.toExponential(100));
    const half = /^50*$/.test(exact.slice(DIGITS)) && Number(exact[DIGITS - 1]) % 2 === 0;
    return half ? [exact.slice(0, DIGITS), power] : split(x.toExponential(DIGITS - 1));
}

function trimmed(text) {
    return text.includes(".") ? text.replace(/\.?0*$/, "") : text;
}

/** The number that a text says, also inf, nan, true and false; undefined where it says none. */
export function parsed(text) {
    const word = text.trim().toLowerCase().replace(/^\+/, "").replaceAll("−", "-");
    if (word === "nan") return NaN;
    if (word === "true" || word === "false") return Number(word === "true");
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
