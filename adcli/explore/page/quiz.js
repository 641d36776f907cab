// A quiz: every step asks for its value before it shows it. What became of each question is a letter in the address.

const CHANGES = ["at", "mode", "forward", "reverse", "element"];
const SAID = {r: "right at first try", l: "right later", s: "shown"};

/** A change within a quiz: no step is passed over, and another point or seed begins again, unless it comes with its answers. */
export function asked(now, change) {
    const again = change.answers === undefined && CHANGES.some((key) => key in change && change[key] !== now[key]);
    const answers = again ? "" : change.answers ?? now.answers, step = again ? 0 : change.step ?? now.step;
    const next = Math.min(step, answers.length + 1);
    return {...change, answers, step: next, predict: true, shown: next <= answers.length};
}

/** What became of the questions so far. */
export function score({answers}, count) {
    const counts = Object.entries(SAID).map(([letter, words]) => [[...answers].filter((each) => each === letter).length, words]);
    const told = counts.filter(([n]) => n).map(([n, words]) => `${n} ${words}`).join(", ");
    return `Quiz: ${answers.length} of ${count} answered${told && `: ${told}`}${answers.length === count ? ". Done." : ""}`;
}
