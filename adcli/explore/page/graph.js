// The graph of the program, inputs at the top: every operation with its value, and its tangent or adjoint.

import {el, mark, svg} from "./dom.js";
import {layered} from "./layers.js";
import {trouble} from "./numbers.js";
import {pane} from "./panes.js";
import {sizes, spoken} from "./words.js";

const HEIGHT = 62, ROW = 104, LETTER = 7.9, MARGIN = 16, ARROW = 3;
const NUMBER = 13 * 7.3 + 12;   // the longest number, -1.23457e-300, in smaller letters
const MOST = 160, LONGEST = 30, SMALLEST = 0.75;
const NEAR = 2;

/** The pane of the graph; of a long program it shows what is around the current operation. */
export function graph(model) {
    const {nodes, edges} = model.graph, whole = nodes.length <= MOST, near = neighbours(nodes, edges);
    const box = pane("graph", "Graph", whole ? "" : "around the current operation", []);
    let built, parts = [];
    return (state, values) => {
        const steps = model.steps(state), now = steps[state.step - 1] ?? steps[0];
        const key = `${state.notation} ${whole ? "" : now?.op}`;
        if (built !== key) {
            const kept = whole ? nodes.map((_, i) => i) : around(nodes, near, now?.op);
            parts = [];
            box.replaceChildren(kept.length ? picture(model, state, kept, parts) : el("p", {class: "note"}, "Nothing to draw."));
            built = key;
        }
        if (box.firstChild) box.firstChild.setAttribute("data-mode", state.mode);
        for (const {node, group, value, derived} of parts) {
            const x = values.of(node), slot = node[model.way(state)], dx = slot === undefined ? "" : values.of({value: slot});
            value.textContent = signed(x);
            derived.textContent = dx === "" ? "" : signed(dx);
            mark(group, "data-trouble", trouble(x) || trouble(dx));
        }
    };
}

/** A name, and what it is made of where there is room. */
function label(model, state, node) {
    const name = model.named(node.value, state) ?? node.name, whole = node.row ? model.statement(node.row, state) : name;
    if (whole.length < LONGEST) return whole;
    return node.sign === "comprehension" ? name : `${name} = ${node.sign} …`;
}

/** A value in few letters: a sign where it is not finite, of a tensor its shape. */
function signed(x) {
    if (x === undefined) return "···";
    return `${trouble(x) ? "⚠\uFE0E " : ""}${x.shape ? sizes(x.shape) : spoken(x)}`;
}

/** For each node the nodes that an edge leads to or comes from. */
function neighbours(nodes, edges) {
    const near = nodes.map(() => []);
    for (const [tail, head] of edges) {
        near[tail].push(head);
        near[head].push(tail);
    }
    return near;
}

/** The positions of the nodes within a few edges of an operation. */
function around(nodes, near, op) {
    let kept = new Set(nodes.flatMap((node, i) => (node.op === op ? [i] : [])));
    for (let step = 0; step < NEAR; step++) {
        const next = new Set([...kept].flatMap((i) => [i, ...near[i]]));
        kept = next.size > MOST ? kept : next;
    }
    return [...kept].sort((a, b) => a - b);
}

function picture(model, state, kept, parts) {
    const place = new Map(kept.map((i, k) => [i, k]));
    const nodes = kept.map((i) => model.graph.nodes[i]);
    const edges = model.graph.edges.filter(([tail, head]) => place.has(tail) && place.has(head));
    const sized = nodes.map((node) => ({width: Math.max(NUMBER, LETTER * label(model, state, node).length + 24)}));
    const {cells, bends, width, rows} = layered(sized, edges.map(([tail, head]) => [place.get(tail), place.get(head)]));
    const middle = (cell) => MARGIN + cell.rank * ROW + HEIGHT / 2;
    const lines = edges.map(([tail, head], i) => {
        const from = cells[place.get(tail)], to = cells[place.get(head)];
        const half = HEIGHT / 2, passed = bends[i].map((bend) => [bend.x, middle(bend)]);
        const points = [[from.x, middle(from) + half], ...passed, [to.x, middle(to) - half - ARROW]];
        return svg("path", {class: "edge", d: curve(points.map(([x, y]) => [x + MARGIN, y])), "marker-end": "url(#arrow)",
            "data-edge": model.graph.nodes[head].op});
    });
    const groups = nodes.map((node, k) => {
        const value = svg("text", {class: "value", y: 8}), derived = svg("text", {class: "derived", y: 23});
        const transform = `translate(${cells[k].x + MARGIN} ${middle(cells[k])})`;
        const group = svg("g", {class: "node", "data-op": node.op, "data-role": node.role, transform},
            shape(node, sized[k].width), svg("text", {class: "name", y: -11}, label(model, state, node)), value, derived);
        parts.push({node, group, value, derived});
        return group;
    });
    const height = (rows - 1) * ROW + HEIGHT + 2 * MARGIN, across = width + 2 * MARGIN;
    const drawing = svg("svg", {class: "graph", viewBox: `0 0 ${across} ${height}`, width: across, height, role: "img",
        "aria-label": `Graph of ${nodes.length} nodes; the evaluation table says the same.`},
        svg("defs", {}, svg("marker", {id: "arrow", viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 8, markerHeight: 8,
            orient: "auto", markerUnits: "userSpaceOnUse"}, svg("path", {class: "arrow", d: "M0 0.5 7.5 4 0 7.5z"}))),
        lines, groups);
    drawing.style.minWidth = `${Math.round(SMALLEST * across)}px`;
    return drawing;
}

/** Inputs are round, as far as a number in the last line leaves room; operations have corners, outputs a heavy border. */
function shape(node, width) {
    const rx = node.role === "input" ? HEIGHT / 4 : 7;
    return svg("rect", {class: "shape", x: -width / 2, y: -HEIGHT / 2, width, height: HEIGHT, rx});
}

/** A smooth line through points, downwards at each. */
function curve(points) {
    let path = `M${points[0].join(" ")}`;
    for (let i = 1; i < points.length; i++) {
        const [x0, y0] = points[i - 1], [x1, y1] = points[i], half = (y1 - y0) / 2;
        path += `C${x0} ${y0 + half} ${x1} ${y1 - half} ${x1} ${y1}`;
    }
    return path;
}
