// A list of which a long one has only a part on the page: what is around the current place, and more by its two buttons.

import {el} from "./dom.js";

const MOST = 600, PART = 300, MARGIN = 20;

/** A list of `count` rows: `row(i)` makes the element of one and what fills in its values, `wrap` a row of a button, and `draw`
 *  puts rows in place of those that are there. What is returned shows the values, with the row of this number on the page. */
export function windowed(count, {row, wrap, draw}) {
    let from = 0, to = count > MOST ? PART : count, rows = [], values;

    function show() {
        const button = (text, onclick) => wrap(el("button", {type: "button", class: "more", onclick}, text));
        const more = (text, change) => button(text, () => { change(); show(); });
        rows = Array.from({length: to - from}, (_, i) => row(from + i));
        draw([
            ...(from > 0 ? [more(`${from} more above`, () => { from = Math.max(0, from - PART); })] : []),
            ...rows.map(([element]) => element),
            ...(to < count ? [more(`${count - to} more below`, () => { to = Math.min(count, to + PART); })] : []),
        ]);
        if (values) for (const [, fill] of rows) fill(values);
    }

    show();
    return (found, at) => {
        values = found;
        const first = from && from + MARGIN, last = to < count ? to - MARGIN : count;
        if (at < 0 || (at >= first && at < last)) return rows.forEach(([, fill]) => fill(values));
        from = Math.max(0, Math.min(count - PART, Math.round(at - PART / 2)));
        to = from + PART;
        return show();
    };
}
