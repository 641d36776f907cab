// A layered drawing of a graph without cycles (Sugiyama, Tagawa and Toda, 1981): ranks, order by barycentres, places.

const SWEEPS = 8, GAP = 22;

/** Rank and centre of every node: `nodes` have a `width`, `edges` are pairs of positions, tail and head; with the bends of every
 *  edge, one for each rank that it passes. */
export function layered(nodes, edges) {
    const ranks = ranked(nodes.length, edges);
    const cells = nodes.map((node, i) => ({rank: ranks[i], width: node.width, above: [], below: [], x: 0}));
    const bends = edges.map(([tail, head]) => {
        const passed = [];
        for (let rank = ranks[tail] + 1; rank < ranks[head]; rank++) passed.push({rank, width: 8, above: [], below: [], x: 0});
        cells.push(...passed);
        const way = [cells[tail], ...passed, cells[head]];
        for (let i = 1; i < way.length; i++) {
            way[i - 1].below.push(way[i]);
            way[i].above.push(way[i - 1]);
        }
        return passed;
    });
    const rows = [];
    for (const cell of cells) (rows[cell.rank] ??= []).push(cell);
    order(rows);
    place(rows);
    const left = Math.min(...cells.map((c) => c.x - c.width / 2)), right = Math.max(...cells.map((c) => c.x + c.width / 2));
    for (const cell of cells) cell.x -= left;
    return {cells: cells.slice(0, nodes.length), bends, width: right - left, rows: rows.length};
}

/** The longest way to every node; what has only later readers comes down to just above the first of them. */
function ranked(count, edges) {
    const ranks = new Array(count).fill(0), heads = Array.from({length: count}, () => []), waiting = new Array(count).fill(0);
    for (const [tail, head] of edges) {
        heads[tail].push(head);
        waiting[head]++;
    }
    const sources = waiting.map((n, i) => (n ? -1 : i)).filter((i) => i >= 0), ready = [...sources];
    while (ready.length) {
        const tail = ready.pop();
        for (const head of heads[tail]) {
            ranks[head] = Math.max(ranks[head], ranks[tail] + 1);
            if (--waiting[head] === 0) ready.push(head);
        }
    }
    for (const i of sources) if (heads[i].length) ranks[i] = Math.min(...heads[i].map((head) => ranks[head])) - 1;
    return ranks;
}

const mean = (cells, of) => cells.reduce((sum, cell) => sum + of(cell), 0) / cells.length;

/** Order each row by where the neighbours of its cells stand, downwards and upwards in turn. */
function order(rows) {
    const count = (row) => row.forEach((cell, i) => { cell.at = i - row.length / 2; });
    rows.forEach(count);
    for (let sweep = 0; sweep < SWEEPS; sweep++) {
        const side = sweep % 2 ? "below" : "above";
        for (const row of sweep % 2 ? [...rows].reverse() : rows) {
            for (const cell of row) cell.key = cell[side].length ? mean(cell[side], (other) => other.at) : cell.at;
            row.sort((a, b) => a.key - b.key);
            count(row);
        }
    }
}

/** Places within the order: each cell towards the middle of its neighbours, no two of a row nearer than the gap. */
function place(rows) {
    const apart = (a, b) => (a.width + b.width) / 2 + GAP;
    for (const row of rows) row.forEach((cell, i) => { cell.x = i ? row[i - 1].x + apart(row[i - 1], cell) : 0; });
    for (let sweep = 0; sweep < 3 * SWEEPS; sweep++) {
        for (const row of sweep % 2 ? [...rows].reverse() : rows) {
            const wanted = row.map((cell) => {
                const around = [...cell.above, ...cell.below];
                return around.length ? mean(around, (other) => other.x) : cell.x;
            });
            const fromLeft = [], fromRight = [];
            for (let i = 0; i < row.length; i++) {
                fromLeft[i] = i ? Math.max(wanted[i], fromLeft[i - 1] + apart(row[i - 1], row[i])) : wanted[i];
            }
            for (let i = row.length - 1; i >= 0; i--) {
                fromRight[i] = i < row.length - 1 ? Math.min(wanted[i], fromRight[i + 1] - apart(row[i], row[i + 1])) : wanted[i];
            }
            row.forEach((cell, i) => { cell.x = (fromLeft[i] + fromRight[i]) / 2; });
        }
    }
}
