// The frame of a pane: a heading that folds it, and a box that scrolls.

import {byId, el} from "./dom.js";

/** A pane with this content; returns its box. */
export function pane(key, title, about, content) {
    const box = el("div", {class: "box", id: `box-${key}`, tabindex: 0, role: "region", "aria-label": title}, content);
    const button = el("button", {type: "button", "aria-expanded": "true", "aria-controls": box.id, onclick: () => fold()},
        title, about ? el("small", {}, about) : null);
    const fold = (open = box.hidden) => {
        box.hidden = !open;
        button.setAttribute("aria-expanded", open);
    };
    byId("panes").append(el("section", {class: "pane", "data-pane": key}, el("h2", {}, button), box));
    return box;
}
