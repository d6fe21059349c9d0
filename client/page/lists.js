// lists.js - shows the table of configurations, importance, details of a configuration, and nodes

const ROWS_FIRST = 50, ROWS_MORE = 200;

// ---- the table ----

class Table {
    constructor(page, card) {
        this.page = page;
        this.most = ROWS_FIRST;
        this.sort = { column: null, isDown: false };
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
        this.sort = { column: null, isDown: false };
        this.update();
    }

    order() {
        const { sweep, metric, matches } = this.page, { column, isDown } = this.sort;
        const { order } = sweep.rank(metric), has = new Set(order);
        const all = [...order, ...sweep.d.configs.names.map((_, i) => i).filter((i) => !has.has(i))].filter((i) => matches[i]);
        if (column === null)
            return all;
        const { key } = this.columns[column], sign = isDown ? -1 : 1;
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
        const rows = this.order(), best = this.page.sweep.best(this.page.metric);
        this.head.replaceChildren(make("tr", {}, ...this.columns.map((c, k) => this.headCell(c, k))));
        this.body.replaceChildren(...rows.slice(0, this.most).map((i) => this.row(i, i === best)));
        this.more.hidden = rows.length <= this.most;
        this.more.textContent = `Show more (${rows.length - this.most} of ${rows.length} are not shown)`;
        if (rows.length === 0)
            this.body.append(make("tr", {}, make("td", { colspan: String(this.columns.length), class: "empty" }, "No configuration matches the filter.")));
    }

    headCell(column, k) {
        const { sort } = this, isSorted = sort.column === k;
        const toggle = () => {
            this.sort = { column: k, isDown: isSorted ? !sort.isDown : !column.isUpFirst };
            this.update();
            this.head.querySelectorAll("button")[k].focus();
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

// ---- jobs ----

class Jobs {
    constructor(page, card) {
        this.page = page;
        this.at = NONE;
        this.legend = make("div", { class: "legend" });
        this.box = make("div", { class: "jobs", tabindex: "0", role: "application", "aria-label": "Jobs: one square each; move with the arrow keys" });
        this.said = make("p", { class: "hint", "aria-live": "polite" }, " ");
        card.append(this.legend, this.box, this.said);
        this.picture = new Picture(this.box, 2, (width) => this.place(width), () => this.draw());
        this.listen();
    }

    place(width) {
        const n = this.page.sweep.d.jobs.names.length;
        const size = n <= 60 ? 26 : n <= 400 ? 20 : n <= 2000 ? 14 : n <= 12000 ? 9 : 6;
        this.size = size;
        this.columns = Math.max(1, Math.floor(width / size));
        return Math.max(1, Math.ceil(n / this.columns)) * size + 4;
    }

    layout() {
        const { d } = this.page.sweep, counts = d.states.map((_, k) => d.jobs.states.filter((s) => s === k).length);
        this.legend.replaceChildren(...d.states.map((name, k) => {
            if (counts[k] === 0)
                return null;
            const swatch = make("i", { class: `swatch state ${STATE_MARKS[name] || ""}`, "aria-hidden": "true" });
            swatch.style.background = theme.colours.states[name] || theme.colours.soft;
            return make("span", {}, swatch, `${counts[k]} ${name}`);
        }).filter((e) => e !== null));
        this.picture.fit(true);
    }

    draw() {
        this.update();
    }

    update() {
        if (this.picture.width === 0)
            return;
        this.picture.paint(0, this.drawAll());
        this.picture.paint(1, this.drawFront());
    }

    mark() {
        this.picture.paint(1, this.drawFront());
    }

    corner(j) {
        return [(j % this.columns) * this.size + 2, Math.floor(j / this.columns) * this.size + 2];
    }

    *drawAll() {
        const pen = this.picture.clear(0), { d } = this.page.sweep, { matches } = this.page, side = this.size - (this.size > 8 ? 3 : 1);
        for (let j = 0; j < d.jobs.names.length; j++) {
            const name = d.states[d.jobs.states[j]], [x, y] = this.corner(j);
            pen.globalAlpha = matches[d.jobs.configs[j]] ? 1 : 0.18;
            pen.fillStyle = theme.colours.states[name] || theme.colours.soft;
            pen.beginPath();
            if (side > 10)
                pen.roundRect(x, y, side, side, 3);
            else
                pen.rect(x, y, side, side);
            pen.fill();
            if (STATE_MARKS[name] && side > 5)
                this.drawMark(pen, STATE_MARKS[name], x, y, side);
            if (j % 500 === 499)
                yield;
        }
        pen.globalAlpha = 1;
    }

    drawMark(pen, kind, x, y, side) {
        const a = side * 0.3, b = side * 0.7;
        pen.strokeStyle = pen.fillStyle = theme.isDark() ? "#14171b" : "#ffffff";
        pen.lineWidth = Math.max(1, side / 11);
        pen.beginPath();
        if (kind === "dot")
            pen.arc(x + side / 2, y + side / 2, side / 7, 0, 7);
        if (kind !== "dot") {
            pen.moveTo(x + a, y + b);
            pen.lineTo(x + b, y + a);
        }
        if (kind === "cross") {
            pen.moveTo(x + a, y + a);
            pen.lineTo(x + b, y + b);
        }
        if (kind === "dot")
            pen.fill();
        else
            pen.stroke();
    }

    *drawFront() {
        const pen = this.picture.clear(1), { d } = this.page.sweep, { hover } = this.page;
        d.jobs.configs.forEach((config, j) => {
            if (j !== this.at && config !== hover)
                return;
            const [x, y] = this.corner(j), side = this.size - (this.size > 8 ? 3 : 1);
            pen.lineWidth = j === this.at ? 2.5 : 1.5;
            pen.strokeStyle = theme.colours.text;
            pen.strokeRect(x - 0.5, y - 0.5, side + 1, side + 1);
        });
    }

    words(j) {
        const { d } = this.page.sweep, { jobs } = d, rows = [["state", d.states[jobs.states[j]]], ["configuration", d.configs.names[jobs.configs[j]]], ["replication", String(jobs.reps[j])]];
        if (jobs.nodes[j] !== null)
            rows.push(["node", jobs.nodes[j]]);
        if (jobs.started[j] > 0 && jobs.ended[j] > 0)
            rows.push(["time", duration(jobs.ended[j] - jobs.started[j])]);
        if (jobs.reasons[j] !== null)
            rows.push(["reason", jobs.reasons[j]]);
        return rows;
    }

    listen() {
        const { d } = this.page.sweep, n = d.jobs.names.length;
        const jobAt = (event) => {
            const [x, y] = this.picture.at(event), column = Math.floor((x - 1) / this.size), j = Math.floor((y - 1) / this.size) * this.columns + column;
            return column >= 0 && column < this.columns && j >= 0 && j < n ? j : NONE;
        };
        this.box.addEventListener("pointermove", (event) => {
            const j = jobAt(event);
            this.page.setHover(j >= 0 ? d.jobs.configs[j] : NONE, null);
            if (j >= 0)
                tooltip.show(event, `job ${d.jobs.names[j]}`, this.words(j));
            else
                tooltip.hide();
        });
        this.box.addEventListener("pointerleave", () => this.page.setHover(NONE, null));
        this.box.addEventListener("click", (event) => jobAt(event) >= 0 && this.page.showDetails(d.jobs.configs[jobAt(event)]));
        this.box.addEventListener("keydown", (event) => {
            const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns, Home: -n, End: n }[event.key];
            if (event.key === "Enter" && this.at >= 0)
                this.page.showDetails(d.jobs.configs[this.at]);
            if (by === undefined || n === 0)
                return;
            event.preventDefault();
            this.at = this.at < 0 ? 0 : Math.min(n - 1, Math.max(0, this.at + by));
            this.said.textContent = `job ${clean(d.jobs.names[this.at])}: ${this.words(this.at).map(([name, text]) => `${name} ${shorten(text, 200)}`).join(", ")}`;
            this.picture.paint(1, this.drawFront());
        });
        this.box.addEventListener("blur", () => { this.at = NONE; this.picture.paint(1, this.drawFront()); });
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
        const jobs = d.jobs.names.map((_, j) => j).filter((j) => d.jobs.configs[j] === i);
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
