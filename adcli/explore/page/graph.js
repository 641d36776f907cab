// The graph of the program, inputs at the top: every operation with its value, and its tangent or adjoint.

import {el, mark, svg} from "./dom.js";
import {trouble} from "./numbers.js";
import {pane} from "./panes.js";
import {sizes, spoken} from "./words.js";

const HEIGHT = 62, ROW = 104, MARGIN = 16, ARROW = 3, SMALLEST = 0.75;

/** The pane of the graph; of a long program it shows the part of the current operation. */
export function graph(model) {
    const {parts} = model.graph, whole = parts.length === 1;
    const box = pane("graph", "Graph", whole ? "" : "the part of the current operation", []);
    let built, nodes = [];
    return (state, values) => {
        const steps = model.steps(state), now = steps[state.step - 1] ?? steps[0];
        const made = (node) => node.op === now?.op && node.role !== "input";
        const part = Math.max(0, parts.findIndex((each) => each.nodes.some(made)));
        const key = `${state.notation} ${part}`;
        if (built !== key) {
            nodes = [];
            box.replaceChildren(parts[part].nodes.length ? picture(parts[part], state, nodes)
                : el("p", {class: "note"}, "Nothing to draw."));
            built = key;
        }
        if (box.firstChild) box.firstChild.setAttribute("data-mode", state.mode);
        for (const {node, group, value, derived} of nodes) {
            const x = values.of(node), slot = node[model.way(state)], dx = slot === undefined ? "" : values.of({value: slot});
            value.textContent = signed(x);
            derived.textContent = dx === "" ? "" : signed(dx);
            mark(group, "data-trouble", trouble(x) || trouble(dx));
        }
    };
}

/** A value in few letters: a sign where it is not finite, of a tensor its shape. */
function signed(x) {
    if (x === undefined) return "···";
    return `${trouble(x) ? "⚠\uFE0E " : ""}${x.shape ? sizes(x.shape) : spoken(x)}`;
}

function picture({nodes, edges, width, rows}, state, made) {
    const middle = (row) => MARGIN + row * ROW + HEIGHT / 2;
    const lines = edges.map(([tail, head, lanes]) => {
        const from = nodes[tail], to = nodes[head], half = HEIGHT / 2;
        const through = lanes.flatMap((x, i) => [-half, half].map((y) => [x, middle(from.row + 1 + i) + y]));
        const points = [[from.x, middle(from.row) + half], ...through, [to.x, middle(to.row) - half - ARROW]];
        return svg("path", {class: "edge", d: curve(points.map(([x, y]) => [x + MARGIN, y])), "marker-end": "url(#arrow)",
            "data-edge": to.op});
    });
    const groups = nodes.map((node) => {
        const value = svg("text", {class: "value", y: 8}), derived = svg("text", {class: "derived", y: 23});
        const transform = `translate(${node.x + MARGIN} ${middle(node.row)})`;
        const group = svg("g", {class: "node", "data-op": node.op, "data-role": node.role, transform},
            shape(node), svg("text", {class: "name", y: -11}, node.label[state.notation]), value, derived);
        made.push({node, group, value, derived});
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
function shape({role, width}) {
    const rx = role === "input" ? HEIGHT / 4 : 7;
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
