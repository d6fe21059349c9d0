// lists.js - shows the table of configurations, importance, details of a configuration, and nodes

const ROWS_FIRST = 50, ROWS_MORE = 200;

// ---- the table ----

class Table {
    constructor(page, card) {
        this.page = page;
        this.most = ROWS_FIRST;
        this.sort = { name: null, isDown: false }; // name: of the column; null: by rank
        this.head = make("thead");
        this.body = make("tbody");
        this.more = make("button", { type: "button", class: "more", onclick: () => { this.most += ROWS_MORE; this.update(); } });
        const caption = make("caption", { class: "unseen" }, "Configurations");
        card.append(make("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Table of configurations" },
            make("table", { class: "configs" }, caption, this.head, this.body)), this.more);
    }

    layout() {
        const { sweep, metric } = this.page, { configs, measures } = sweep.d;
        const others = sweep.metrics.map((_, m) => m).filter((m) => m !== metric);
        const measure = (m) => ({
            name: sweep.metrics[m].name, isNumber: true, key: (i) => (measures[m].n[i] > 0 ? measures[m].mean[i] : null),
            isUpFirst: sweep.metrics[m].goal === "min", text: (i) => measureText(measures[m], i), isMain: m === metric,
        });
        this.columns = [
            { name: "configuration", key: (i) => i, text: (i) => configs.names[i], isUpFirst: true, isHead: true },
            ...this.page.shownParams.map((axis) => ({
                name: axis.name, isNumber: axis.isNumeric, isUpFirst: true,
                key: (i) => (axis.choices !== null ? (axis.indices[i] < 0 ? null : axis.indices[i]) : axis.cell(i) && axis.cell(i).value),
                text: (i) => axis.text(i),
            })),
            { name: "n", isNumber: true, key: (i) => configs.n[i], text: (i) => String(configs.n[i]) },
            measure(metric), ...others.map(measure),
        ];
        if (configs.reasons.some((r) => r !== null) || configs.left.some((n) => n > 0))
            this.columns.push({ name: "notes", key: (i) => notesOf(sweep, i), text: (i) => notesOf(sweep, i), isUpFirst: true, isNote: true });
        this.update();
    }

    order() {
        const { sweep, metric, matches } = this.page, { name, isDown } = this.sort, column = this.columns.find((c) => c.name === name);
        const { order } = sweep.rank(metric), has = new Set(order);
        const all = [...order, ...sweep.d.configs.names.map((_, i) => i).filter((i) => !has.has(i))].filter((i) => matches[i]);
        if (column === undefined)
            return all;
        const { key } = column, sign = isDown ? -1 : 1;
        const keys = new Map(all.map((i) => [i, key(i)]));
        return all.sort((i, k) => {
            const x = keys.get(i), y = keys.get(k);
            if (x === null || y === null)
                return (x === null) - (y === null);
            return sign * (typeof x === "string" ? x.localeCompare(y) : x - y);
        });
    }

    update() {
        if (!this.columns)
            return;
        const rows = this.order(), best = this.page.sweep.best(this.page.metric), { activeElement } = document;
        const focused = this.body.contains(activeElement) ? activeElement.closest("tr").dataset.config : null;
        const focusedHead = [...this.head.querySelectorAll("button")].indexOf(activeElement);
        this.head.replaceChildren(make("tr", {}, ...this.columns.map((c) => this.headCell(c))));
        this.body.replaceChildren(...rows.slice(0, this.most).map((i) => this.row(i, i === best)));
        this.more.hidden = rows.length <= this.most;
        this.more.textContent = `Show more (${rows.length - this.most} of ${rows.length} are not shown)`;
        if (focusedHead >= 0)
            this.head.querySelectorAll("button")[focusedHead]?.focus({ preventScroll: true });
        if (focused !== null)
            this.body.querySelector(`tr[data-config="${focused}"] button`)?.focus({ preventScroll: true });
        if (rows.length === 0)
            this.body.append(make("tr", {}, make("td", { colspan: String(this.columns.length), class: "empty" }, "No configuration matches the filter.")));
    }

    headCell(column) {
        const { sort } = this, isSorted = sort.name === column.name;
        const toggle = () => {
            this.sort = { name: column.name, isDown: isSorted ? !sort.isDown : !column.isUpFirst };
            this.update();
        };
        return make("th", { scope: "col", class: column.isNumber ? "number" : "", "aria-sort": isSorted ? (sort.isDown ? "descending" : "ascending") : null },
            make("button", { type: "button", onclick: toggle, title: clean(column.name) }, shorten(column.name, 24),
                make("span", { class: "arrow", "aria-hidden": "true" }, isSorted ? (sort.isDown ? " ▼" : " ▲") : "")));
    }

    row(i, isBest) {
        const rank = this.page.sweep.rank(this.page.metric).ranks[i];
        const cells = this.columns.map((c) => {
            const text = c.text(i), shown = shorten(text, c.isNote ? 120 : 40);
            if (c.isHead) {
                const swatch = make("i", { class: "swatch", "aria-hidden": "true" });
                swatch.style.background = Number.isNaN(rank) ? "none" : theme.colours.ramp[rampStep(rank)];
                return make("th", { scope: "row" }, make("button", { type: "button", class: "link", onclick: () => this.page.showDetails(i) }, swatch, shown),
                    isBest ? make("span", { class: "badge" }, "best") : null);
            }
            return make("td", { class: `${c.isNumber ? "number" : ""}${c.isMain ? " main" : ""}${c.isNote ? " note" : ""}`, title: shown === text ? null : shorten(text, 1000) }, shown);
        });
        return make("tr", { class: isBest ? "best" : "", "data-config": String(i), onpointerenter: () => this.page.setHover(i, null), onpointerleave: () => this.page.setHover(NONE, null) }, ...cells);
    }

    mark() {
        for (const row of this.body.children)
            row.classList.toggle("hovered", Number(row.dataset.config) === this.page.hover);
    }
}

function measureText(m, i) {
    if (m.n[i] > 0)
        return fewDigitsWith(m.mean[i], m.std[i]);
    return m.live[i] !== null && m.live[i] !== undefined ? `~${fewDigits(m.live[i])}` : "–";
}

function notesOf(sweep, i) {
    const { configs } = sweep.d, words = [];
    for (const [state, counts] of Object.entries(configs.states))
        if (counts[i] > 0)
            words.push(`${counts[i]} ${state}`);
    if (configs.left[i] > 0)
        words.push(`${configs.left[i]} not over`);
    return words.join(", ") + (configs.reasons[i] !== null ? `: ${configs.reasons[i]}` : "");
}

// ---- importance ----

class Importance {
    constructor(page, card) {
        this.page = page;
        this.box = make("div", { class: "importance" });
        card.append(this.box);
    }

    layout() {
        const { sweep, metric } = this.page, found = sweep.d.importance[metric];
        if (found.why !== undefined) {
            this.box.replaceChildren(make("p", { class: "empty" }, clean(found.why)));
            return;
        }
        const most = Math.max(...found.importance.map((p) => p.importance), 1e-9);
        const row = (name, share, isPair) => {
            const bar = make("i", { "aria-hidden": "true" });
            bar.style.width = `${Math.max(0.5, Math.min(100, share / most * 100))}%`;
            return make("tr", { class: isPair ? "pair" : "" }, make("th", { scope: "row", title: clean(name) }, shorten(name, 32)),
                make("td", { class: "bar" }, bar), make("td", { class: "number" }, share.toFixed(2)));
        };
        const names = (pair) => pair.params.map((name) => shorten(name, 20)).join(" × ");
        this.box.replaceChildren(
            make("table", {}, make("caption", { class: "unseen" }, "Importance of parameters"),
                make("tbody", {}, ...found.importance.slice(0, 10).map((p) => row(p.param, p.importance, false)),
                    ...found.pairs.slice(0, 4).map((pair) => row(names(pair), pair.importance, true)))),
            make("p", { class: "hint" }, `What tells the best ${found.top} of ${found.configs} configurations from the others` +
                (found.pairs.length > 0 ? "; hatched: what two parameters do beyond each alone." : ".")));
    }
}

// ---- one configuration ----

class Details {
    constructor(page) {
        this.page = page;
        this.dialog = make("dialog", { class: "details", "aria-labelledby": "details-name", onclick: (event) => event.target === this.dialog && this.dialog.close() });
        document.body.append(this.dialog);
    }

    show(i) {
        const { sweep } = this.page, { d } = sweep, name = clean(d.configs.names[i]);
        const list = (rows) => make("dl", {}, ...rows.flatMap(([term, text, title]) => [make("dt", {}, shorten(term, 60)), make("dd", { title: title || null }, text)]));
        const params = [...sweep.params.map((axis) => [axis.name, axis.cell(i)]), ...sweep.fixed].filter(([, cell]) => cell !== null)
            .map(([term, cell]) => [term, shorten(cell.text, 400)]);
        const measures = sweep.metrics.map((m, k) => [m.name, measureText(d.measures[k], i), d.measures[k]])
            .map(([term, text, m]) => [term, m.n[i] > 1 ? `${text} (${fewDigits(m.min[i] ?? NaN)} to ${fewDigits(m.max[i] ?? NaN)}, ${m.n[i]} jobs)` : text]);
        const jobs = sweep.jobsOf(i);
        const first = jobs.length > 0 ? clean(d.jobs.names[jobs[0]]) : "";
        this.dialog.replaceChildren(
            make("form", { method: "dialog" }, make("h2", { id: "details-name" }, name), make("button", { class: "close", "aria-label": "Close" }, "×")),
            make("h3", {}, "Parameters"), list(params),
            make("h3", {}, "Measures"), list(measures),
            make("h3", {}, "Jobs"), list(jobs.slice(0, 40).map((j) => [d.jobs.names[j], `${d.states[d.jobs.states[j]]}${d.jobs.nodes[j] !== null ? ` on ${shorten(d.jobs.nodes[j], 60)}` : ""}${d.jobs.reasons[j] !== null ? `: ${shorten(d.jobs.reasons[j], 300)}` : ""}`])),
            first !== "" ? make("p", { class: "hint" }, "In a terminal: ", make("code", {}, `ludwig logs ${first}`)) : null);
        this.dialog.showModal();
    }
}

// ---- nodes and pilots ----

// Shows nodes, pools and pilots in the card, and hides the card if there are none.  The live page passes
// buttons(node), which returns a node's buttons, and openJob(name), which shows a job's log.
function fillNodes(card, { nodes, pools, pilots }, buttons = null, openJob = null) {
    card.hidden = nodes.length + pools.length + pilots.length === 0;
    if (card.hidden)
        return;
    const several = (n, name) => `${n} ${name}${n === 1 ? "" : "s"}`, begun = nodes.filter((n) => n.kind === "slurm").length, waiting = pilots.reduce((n, p) => n + p.pilots, 0);
    const heads = [["node"], ["kind"], ["state"], ["CPUs", "number"], ["load", "number"], ["GPUs"], ["memory", "number"], ...(buttons ? [["user"]] : []), ["running", "number"], ...(buttons ? [["jobs"], [""]] : [])];
    const slurm = begun + waiting > 0 ? `Slurm: ${several(begun, "pilot")} run${begun === 1 ? "s" : ""}, ${waiting} wait${waiting === 1 ? "s" : ""} in its queue.` : "";
    card.querySelector(".hint").textContent = buttons ? slurm : `When this file was made. ${slurm}`;
    const cells = (n) => {
        const models = [...new Set(n.gpu_models.filter((m) => m))].map((m) => shorten(m, 30)).join(", "), most = Math.min(6, n.jobs.length);
        const links = n.jobs.slice(0, most).flatMap((job, k) => [k > 0 ? " " : "", make("button", { type: "button", class: "link", onclick: () => openJob(job) }, clean(job))]);
        return [make("th", { scope: "row" }, shorten(n.node, 40)), make("td", {}, n.kind), make("td", {}, make("span", { class: `chip ${{ up: "done", lost: "failed" }[n.state] || ""}` }, n.state)),
            make("td", { class: "number" }, fewDigits(n.cpus)), make("td", { class: "number" }, n.load === null ? "–" : n.load.toFixed(1)),
            make("td", {}, ...(n.gpus === 0 ? ["–"] : [gpuBoxes(n), models !== "" ? ` ${models}` : "", sayGpuUse(n)])), make("td", { class: "number" }, bytes(n.memory)),
            ...(buttons ? [make("td", {}, n.user ? shorten(n.user, 30) : "")] : []), make("td", { class: "number" }, String(n.running)),
            ...(buttons ? [make("td", { class: "note" }, ...links, n.running > most ? ` and ${n.running - most} more` : ""), make("td", {}, ...buttons(n))] : [])];
    };
    const line = (text) => make("p", { class: "hint" }, text), whose = (p) => (p.user ? `, for ${shorten(p.user, 40)}` : "");
    const box = card.querySelector(".scroller") || card.appendChild(make("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Table of nodes" }));
    box.replaceChildren(make("table", { class: "configs" }, make("caption", { class: "unseen" }, "Nodes"),
        make("thead", {}, make("tr", {}, ...heads.map(([name, kind = ""]) => (name === "" ? make("td") : make("th", { scope: "col", class: kind }, name))))),
        make("tbody", {}, ...nodes.map((n) => make("tr", {}, ...cells(n))))));
    const lines = card.querySelector(".troubles") || card.appendChild(make("div", { class: "troubles" }));
    lines.replaceChildren(...nodes.filter((n) => n.refused).map((n) => line(`${shorten(n.node, 60)}: no jobs start there for now: ${shorten(n.refused, 300)}`)),
        ...pilots.map((p) => line(`Slurm, partition ${shorten(p.partition, 60)}${whose(p)}: ${p.slurm_job === 0 ? `${several(p.pilots, "pilot")} to be submitted`
            : `${several(p.pilots, "pilot")}, Slurm's job ${p.slurm_job}: ${shorten(p.why || "Slurm was not asked about it yet", 300)}`}`)),
        ...pools.map((p) => line(`Slurm, partition ${shorten(p.partition, 60)}${whose(p)}: no pilots: ${shorten(p.why, 300)}`)));
}

// A square for each GPU (at most 16); as many are filled as jobs use.
function gpuBoxes(n) {
    const used = Math.round(n.gpus - n.gpus_free), boxes = make("span", { class: "gpus", role: "img", "aria-label": `${used} of ${n.gpus} GPUs in use` });
    boxes.append(...Array.from({ length: Math.min(n.gpus, 16) }, (_, k) => make("i", { class: k < used ? "used" : "" })));
    return boxes;
}

// How busy a node's GPUs are, for those whose drivers report it.
function sayGpuUse(n) {
    const percents = n.gpu_use.map((use) => use.percent).filter((percent) => percent !== null);
    return percents.length === 0 ? "" : `: ${percents.slice(0, 16).map((percent) => `${percent} %`).join(", ")}`;
}

function bytes(n) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let k = 0;
    for (; n >= 1024 && k < units.length - 1; k++)
        n /= 1024;
    return `${fewDigits(n, 3)} ${units[k]}`;
}
