// Elements, made of names and text alone: nothing that a program says is ever read as markup.

const [SVG, MATH] = ["svg", "math"].map((name) => document.querySelector(name).namespaceURI);

/** The element of this id. */
export const byId = (id) => document.getElementById(id);

/** An element with attributes, listeners (`onclick: f`) and children; texts become text, nothing else. */
export function el(tag, attributes = {}, ...children) {
    return filled(document.createElement(tag), attributes, children);
}

/** The same for a picture. */
export function svg(tag, attributes = {}, ...children) {
    return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** The same for a formula. */
export function mathml(tag, attributes = {}, ...children) {
    return filled(document.createElementNS(MATH, tag), attributes, children);
}

function filled(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (value === true) element.setAttribute(name, "");
        else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
}

/** Set or clear an attribute that is there or not. */
export function mark(element, name, on) {
    if (on) element.setAttribute(name, "true");
    else element.removeAttribute(name);
}

/** Bring an element into view inside its own scrolling box, and leave the page where it is. */
export function reveal(element, box) {
    const outer = box.getBoundingClientRect(), inner = element.getBoundingClientRect();
    const below = inner.bottom - outer.bottom, above = inner.top - outer.top;
    if (above < 0 || below > 0) box.scrollTop += above - (outer.height - inner.height) / 2;
    const right = inner.right - outer.right, left = inner.left - outer.left;
    if (inner.width < outer.width && (left < 0 || right > 0)) box.scrollLeft += left - (outer.width - inner.width) / 2;
}
