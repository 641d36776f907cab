// The frame of a pane: a heading that folds it, and a box that scrolls.

import {byId, el} from "./dom.js";

/** A pane with this content; returns its box. */
export function pane(key, title, about, content) {
    const box = el("div", {class: "box", id: `box-${key}`, tabindex: 0, role: "region", "aria-label": title}, content);
    const button = el("button", {type: "button", "aria-controls": box.id}, title, about ? el("small", {}, about) : null);
    byId("panes").append(el("section", {class: "pane", "data-pane": key}, el("h2", {}, button), box));
    return box;
}

/** Fold the panes with these keys, and open the others. */
export function fold(keys) {
    for (const each of byId("panes").children) {
        const folded = keys.includes(each.getAttribute("data-pane"));
        each.querySelector(".box").hidden = folded;
        each.querySelector("h2 button").setAttribute("aria-expanded", !folded);
    }
}
