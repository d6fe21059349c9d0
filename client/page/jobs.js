// jobs.js - shows jobs as squares, when and where they ran, why they failed, and the search's decisions

// ---- jobs ----

const SEEN_AT_ONCE = 2000; // if there are more jobs, only those that the filter and state select have squares

class Jobs {
    constructor(page, card) {
        this.page = page;
        this.at = NONE;
        this.open = NONE; // the job whose log is shown
        this.only = null; // the state whose jobs are shown
        this.legend = make("div", { class: "legend" });
        this.box = make("div", { class: "jobs", tabindex: "0", role: "application", "aria-label": "Jobs: one square each; move with the arrow keys" });
        this.said = make("p", { class: "hint", "aria-live": "polite" }, " ");
        // The squares have an element that scrolls, because there may be very many.
        this.scroller = make("div", { class: "gridscroll" }, this.box);
        card.append(this.legend, this.scroller, this.said);
        this.picture = new Picture(this.box, 2, (width) => this.place(width), () => this.draw(), this.scroller);
        this.listen();
    }

    // Sets order: the jobs that have a square; and places: the index of each job in order, or NONE.
    arrange() {
        const n = this.page.sweep.d.jobs.names.length, all = Int32Array.from({ length: n }, (_, j) => j);
        this.order = n <= SEEN_AT_ONCE ? all : all.filter((j) => this.isShown(j));
        this.places = new Int32Array(n).fill(NONE);
        this.order.forEach((j, k) => { this.places[j] = k; });
    }

    place(width) {
        const n = this.page.sweep.d.jobs.names.length;
        const size = n <= 60 ? 26 : n <= 400 ? 20 : n <= 2000 ? 14 : n <= 12000 ? 9 : 6;
        this.size = size;
        this.columns = Math.max(1, Math.floor(width / size));
        return Math.max(1, Math.ceil(this.order.length / this.columns)) * size + 4;
    }

    layout() {
        this.at = Math.min(this.at, this.page.sweep.d.jobs.names.length - 1);
        this.count();
        this.update();
    }

    // Shows how many jobs are in each state, on buttons: pressing one shows only the jobs in that state.
    count() {
        const { d } = this.page.sweep, counts = new Array(d.states.length).fill(0), had = document.activeElement;
        for (const state of d.jobs.states)
            counts[state]++;
        if (this.only !== null && counts[d.states.indexOf(this.only)] === 0)
            this.only = null;
        const focused = this.legend.contains(had) ? had.dataset.state : null;
        this.legend.replaceChildren(...d.states.map((name, k) => {
            if (counts[k] === 0)
                return null;
            return make("button", { type: "button", class: "key", "aria-pressed": String(this.only === name), "data-state": name,
                title: this.only === name ? "Show all jobs" : `Show only those that are ${name}`, onclick: () => this.showOnly(this.only === name ? null : name) },
            stateSwatch(name), `${counts[k]} ${name}`);
        }).filter((e) => e !== null));
        if (focused !== null)
            this.legend.querySelector(`[data-state="${focused}"]`)?.focus({ preventScroll: true });
    }

    showOnly(state) {
        this.only = state;
        this.count();
        this.update();
    }

    isShown(j) {
        const { d } = this.page.sweep;
        return this.page.matches[d.jobs.configs[j]] && (this.only === null || d.states[d.jobs.states[j]] === this.only);
    }

    change(indices) {
        this.count();
        if (this.only !== null || indices.length > 2000 || this.picture.width === 0)
            this.update();
        else
            indices.forEach((j) => this.isSeen(j) && this.drawJob(this.picture.pens[0], j));
        this.picture.pens[0].globalAlpha = 1;
    }

    // Arranges and draws all squares anew, for example after a change of the filter or the chosen state.
    update() {
        this.arrange();
        this.box.dataset.shown = String(this.order.length);
        this.picture.fit(true);
    }

    draw() {
        this.picture.paint(0, this.drawAll());
        this.picture.paint(1, this.drawFront());
    }

    mark() {
        this.picture.paint(1, this.drawFront());
    }

    reveal(j) {
        const y = this.corner(j)[1], { scrollTop, clientHeight } = this.scroller;
        if (y < scrollTop || y + this.size > scrollTop + clientHeight)
            this.scroller.scrollTop = y - clientHeight / 2;
    }

    corner(j) {
        const k = this.places[j];
        return [(k % this.columns) * this.size + 2, Math.floor(k / this.columns) * this.size + 2];
    }

    isSeen(j) {
        const y = this.places[j] < 0 ? NaN : this.corner(j)[1];
        return y + this.size >= this.picture.top && y <= this.picture.top + this.picture.seen;
    }

    // Draws the visible squares in a single step, so that the picture keeps up with scrolling.
    *drawAll() {
        const pen = this.picture.clear(0), { top, seen } = this.picture;
        const first = Math.max(0, Math.floor((top - 2) / this.size)) * this.columns;
        const last = Math.min(this.order.length, Math.ceil((top + seen) / this.size) * this.columns);
        if (this.order.length === 0)
            write(pen, "No job matches the filter.", 2, 2, {});
        for (let k = first; k < last; k++)
            this.drawJob(pen, this.order[k]);
        pen.globalAlpha = 1;
    }

    drawJob(pen, j) {
        const { d } = this.page.sweep, name = d.states[d.jobs.states[j]], [x, y] = this.corner(j), side = this.size - (this.size > 8 ? 3 : 1);
        pen.clearRect(x - 0.5, y - 0.5, side + 1, side + 1);
        pen.globalAlpha = this.isShown(j) ? 1 : 0.18;
        pen.fillStyle = theme.colours.states[name] || theme.colours.soft;
        if (side > 10) {
            pen.beginPath();
            pen.roundRect(x, y, side, side, 3);
            pen.fill();
        } else
            pen.fillRect(x, y, side, side);
        if (STATE_MARKS[name] && side > 5)
            this.drawMark(pen, STATE_MARKS[name], x, y, side);
    }

    drawMark(pen, kind, x, y, side) {
        const a = side * 0.3, b = side * 0.7, middle = y + side / 2;
        pen.strokeStyle = pen.fillStyle = theme.isDark() ? "#14171b" : "#ffffff";
        pen.lineWidth = Math.max(1, side / 11);
        pen.beginPath();
        if (kind === "dot") {
            pen.arc(x + side / 2, middle, side / 7, 0, 7);
            pen.fill();
            return;
        }
        pen.moveTo(x + a, kind === "bar" ? middle : y + b);
        pen.lineTo(x + b, kind === "bar" ? middle : y + a);
        if (kind === "cross") {
            pen.moveTo(x + a, y + a);
            pen.lineTo(x + b, y + b);
        }
        pen.stroke();
    }

    *drawFront() {
        const pen = this.picture.clear(1), marked = [this.at, this.open];
        for (const j of [...this.page.sweep.jobsOf(this.page.hover), ...marked.filter((j) => j >= 0)]) {
            if (!this.isSeen(j))
                continue;
            const [x, y] = this.corner(j), side = this.size - (this.size > 8 ? 3 : 1);
            pen.lineWidth = marked.includes(j) ? 2.5 : 1.5;
            pen.strokeStyle = theme.colours.text;
            pen.strokeRect(x - 0.5, y - 0.5, side + 1, side + 1);
        }
    }

    jobAt(event) {
        const [x, y] = this.picture.at(event), column = Math.floor((x - 1) / this.size), k = Math.floor((y - 1) / this.size) * this.columns + column;
        return column >= 0 && column < this.columns && k >= 0 && k < this.order.length ? this.order[k] : NONE;
    }

    listen() {
        this.box.addEventListener("pointermove", (event) => showJobUnder(this.page, this.jobAt(event), event));
        this.box.addEventListener("pointerleave", () => this.page.setHover(NONE, null));
        this.box.addEventListener("click", (event) => this.jobAt(event) >= 0 && this.page.openJob(this.jobAt(event)));
        this.box.addEventListener("keydown", (event) => {
            const n = this.order.length, by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns, Home: -n, End: n }[event.key];
            if (event.key === "Enter" && this.at >= 0)
                this.page.openJob(this.at);
            if (by === undefined || n === 0)
                return;
            event.preventDefault();
            const k = this.at < 0 ? NONE : this.places[this.at];
            this.at = this.order[k < 0 && Math.abs(by) < n ? 0 : Math.min(n - 1, Math.max(0, k + by))];
            this.reveal(this.at);
            this.said.textContent = sayJob(this.page.sweep, this.at);
            this.mark();
        });
        this.box.addEventListener("blur", () => { this.at = NONE; this.mark(); });
    }
}

function stateSwatch(name) {
    const swatch = make("i", { class: `swatch state ${STATE_MARKS[name] || ""}`, "aria-hidden": "true" });
    swatch.style.background = theme.colours.states[name] || theme.colours.soft;
    return swatch;
}

function jobWords(sweep, j) {
    const { d } = sweep, { jobs } = d, rows = [["state", d.states[jobs.states[j]]], ["configuration", d.configs.names[jobs.configs[j]]], ["replication", String(jobs.reps[j])]];
    if (jobs.nodes[j] !== null)
        rows.push(["node", jobs.nodes[j]]);
    if (jobs.gpu_ids?.[j])
        rows.push([jobs.gpu_ids[j].includes(",") ? "GPUs" : "GPU", jobs.gpu_ids[j].replaceAll(",", ", ")]);
    if (jobs.started[j] > 0 && jobs.ended[j] > 0)
        rows.push(["time", duration(jobs.ended[j] - jobs.started[j])]);
    if (jobs.reasons[j] !== null)
        rows.push(["reason", jobs.reasons[j]]);
    return rows;
}

function sayJob(sweep, j) {
    return `job ${clean(sweep.d.jobs.names[j])}: ${jobWords(sweep, j).map(([name, text]) => `${name} ${shorten(text, 200)}`).join(", ")}`;
}

function showJobUnder(page, j, event) {
    const { d } = page.sweep;
    page.setHover(j >= 0 ? d.jobs.configs[j] : NONE, null);
    if (j >= 0)
        tooltip.show(event, `job ${d.jobs.names[j]}`, jobWords(page.sweep, j));
    else
        tooltip.hide();
}

// ---- when and where jobs ran ----

const TIME = { left: 128, narrow: 84, right: 12, top: 6, bottom: 26, gap: 9, lane: 13, label: 15, most: 900, places: 256 };

// Shows when and where jobs ran.  A node whose jobs had GPUs has a row for each of these GPUs, and one for
// jobs without a GPU; any other node has one row.  A row consists of places, so that jobs that ran at the
// same time lie beside each other; a place is hatched while no job ran in it.
class Timeline {
    constructor(page, card) {
        Object.assign(this, { page, card, at: NONE, nodes: [], rows: [], places: [], order: [], since: 0 });
        this.range = make("select", { "aria-label": "Time shown", onchange: () => { this.since = Number(this.range.value); this.layout(); } },
            ...[[0, "all of it"], [3600e3, "last hour"], [600e3, "last 10 min"]].map(([ms, text]) => make("option", { value: String(ms) }, text)));
        card.querySelector(".tools").append(this.range);
        this.box = make("div", { class: "jobs timeline", tabindex: "0", role: "application" });
        this.said = make("p", { class: "hint", "aria-live": "polite" }, " ");
        card.append(this.box, this.said);
        this.picture = new Picture(this.box, 2, () => this.height(), () => this.update());
        this.listen();
    }

    // Gives each job the first place of its row that is free when the job starts; a job with several GPUs
    // gets a place in the row of each.  A job that does not run any more holds its place up to its end, and
    // is left out if its end is not known, as may be while it is publishing.
    arrange() {
        const { d } = this.page.sweep, { jobs } = d, nodes = new Map(), now = this.page.now(), running = d.states.indexOf("running");
        const runs = (j) => jobs.started[j] > 0 && jobs.nodes[j] !== null && (jobs.ended[j] > 0 || jobs.states[j] === running);
        this.order = jobs.names.map((_, j) => j).filter(runs).sort((a, b) => jobs.started[a] - jobs.started[b]);
        Object.assign(this, { ends: new Float64Array(jobs.names.length), placeOf: new Int32Array(jobs.names.length), morePlacesOf: new Map(), places: [], now });
        let first = Infinity, last = -Infinity;
        for (const j of this.order) {
            const end = jobs.ended[j] > 0 ? Math.max(jobs.ended[j], jobs.started[j]) : Math.max(now, jobs.started[j]), gpus = jobs.gpu_ids?.[j];
            this.ends[j] = end;
            first = Math.min(first, jobs.started[j]);
            last = Math.max(last, end);
            if (!nodes.has(jobs.nodes[j]))
                nodes.set(jobs.nodes[j], { name: jobs.nodes[j], rows: new Map() });
            const { rows } = nodes.get(jobs.nodes[j]), taken = (gpus ? gpus.split(",") : [""]).map((gpu) => this.take(rows, gpu, j, end));
            this.placeOf[j] = taken[0];
            if (taken.length > 1)
                this.morePlacesOf.set(j, taken);
        }
        this.nodes = [...nodes.values()].sort((a, b) => compareTexts(a.name, b.name));
        for (const node of this.nodes) {
            node.rows = [...node.rows.values()].sort((a, b) => (a.gpu === "") - (b.gpu === "") || a.gpu - b.gpu || compareTexts(a.gpu, b.gpu));
            node.hasGpus = node.rows[0].gpu !== "";
        }
        this.rows = this.nodes.flatMap((node) => node.rows);
        this.hasLong = last - first > 900e3;
        this.end = Math.max(last, first + 1000);
        this.begin = this.since > 0 && this.hasLong ? Math.max(first, this.end - this.since) : first;
        this.all = [first, Math.max(last, first + 1000)];
    }

    // Gives the job a place in the row of this GPU ("": the row for jobs without GPU); returns the index of
    // the place in this.places.
    take(rows, gpu, j, end) {
        const { jobs } = this.page.sweep.d, start = jobs.started[j];
        if (!rows.has(gpu))
            rows.set(gpu, { gpu, free: [], places: [], until: -Infinity, busy: 0, held: 0 });
        const row = rows.get(gpu);
        let k = row.free.findIndex((at) => at <= start);
        if (k < 0)
            k = row.free.length < TIME.places ? row.free.length : row.free.indexOf(Math.min(...row.free));
        row.free[k] = end;
        if (row.places[k] === undefined)
            row.places[k] = this.places.push({ row, k, jobs: [] }) - 1;
        this.places[row.places[k]].jobs.push(j);
        row.held += end - start; // the sum over all jobs
        row.busy += Math.max(0, end - Math.max(start, row.until)); // the time in which any job ran
        row.until = Math.max(row.until, end);
        return row.places[k];
    }

    height() {
        const labels = TIME.label * this.nodes.filter((node) => node.hasGpus).length, gaps = TIME.gap * this.nodes.length;
        this.lane = Math.max(3, Math.min(TIME.lane, (TIME.most - gaps - labels) / Math.max(1, this.places.length)));
        let y = TIME.top;
        for (const node of this.nodes) {
            node.y = y;
            y += node.hasGpus ? TIME.label : 0;
            for (const row of node.rows) {
                row.y = y;
                y += row.free.length * this.lane;
            }
            y = Math.max(y, node.y + 13) + TIME.gap;
        }
        return y + TIME.bottom;
    }

    // A sentence such as "8 GPUs on 2 nodes, 73 % of the time in use."
    sayUse() {
        const span = this.all[1] - this.all[0], several = (n, name) => `${n} ${name}${n === 1 ? "" : "s"}`;
        const say = (name, isMeant, count, busy) => {
            const n = this.rows.filter(isMeant).reduce((sum, row) => sum + count(row), 0), ms = this.rows.filter(isMeant).reduce((sum, row) => sum + busy(row), 0);
            const nodes = this.nodes.filter((node) => node.rows.some(isMeant)).length;
            return n === 0 ? "" : `${several(n, name)} on ${several(nodes, "node")}, ${Math.round(ms / (n * span) * 100)} % of the time in use.`;
        };
        return [say("GPU", (row) => row.gpu !== "", () => 1, (row) => row.busy), say("place", (row) => row.gpu === "", (row) => row.free.length, (row) => row.held)].filter((text) => text !== "").join(" ");
    }

    layout() {
        this.arrange();
        this.card.hidden = this.order.length === 0;
        this.range.hidden = !this.hasLong;
        this.words = this.order.length === 0 ? "" : this.sayUse();
        this.card.querySelector(".hint").textContent = this.words;
        this.box.setAttribute("aria-label", `Jobs by node, GPU and time; move with the arrow keys. ${this.words}`);
        this.picture.fit(true);
    }

    // Called when jobs change.  Waits 400 ms for further changes before it draws.
    change() {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.layout(), 400);
    }

    update() {
        if (this.picture.width === 0 || this.order.length === 0)
            return;
        const { width } = this.picture;
        this.left = width < 600 ? TIME.narrow : TIME.left;
        this.right = width - TIME.right;
        this.picture.paint(0, this.drawAll());
        this.picture.paint(1, this.drawFront());
    }

    mark() {
        if (this.order.length > 0)
            this.picture.paint(1, this.drawFront());
    }

    x(ms) {
        return this.left + Math.min(1, Math.max(0, (ms - this.begin) / (this.end - this.begin))) * (this.right - this.left);
    }

    // The rectangle of a job in one of its places: left, top, width, height.
    boxIn(place, j) {
        const { jobs } = this.page.sweep.d, { row, k } = this.places[place];
        const x0 = this.x(jobs.started[j]), x1 = this.x(this.ends[j]);
        return [x0, row.y + k * this.lane, Math.max(1, x1 - x0 - (x1 - x0 > 3 ? 0.7 : 0)), this.lane - (this.lane > 5 ? 2 : 0.5)];
    }

    boxesOf(j) {
        return (this.morePlacesOf.get(j) || [this.placeOf[j]]).map((place) => this.boxIn(place, j));
    }

    drawNames(pen) {
        const span = this.all[1] - this.all[0], soft = { colour: theme.colours.soft };
        for (const node of this.nodes) {
            const height = node.rows.reduce((n, row) => n + row.free.length * this.lane, 0);
            write(pen, node.name, 0, node.y + (node.hasGpus ? TIME.label / 2 : Math.max(6.5, height / 2)), { colour: theme.colours.text, width: node.hasGpus ? this.right : this.left - 10 });
            for (const row of node.rows) {
                if (!node.hasGpus || row.free.length * this.lane < 9)
                    continue;
                const y = row.y + row.free.length * this.lane / 2 - 1, isGpu = row.gpu !== "";
                if (isGpu)
                    write(pen, `${Math.round(row.busy / span * 100)} %`, this.left - 8, y, { ...soft, align: "right" });
                write(pen, !isGpu ? "no GPU" : this.left < TIME.left ? row.gpu : `GPU ${row.gpu}`, 8, y, { ...soft, width: this.left - (isGpu ? 54 : 16) });
            }
        }
    }

    *drawAll() {
        const pen = this.picture.clear(0), { d } = this.page.sweep, { matches } = this.page, { faint, rule: line } = theme.colours;
        const bottom = this.picture.height - TIME.bottom;
        this.drawNames(pen);
        pen.fillStyle = hatch(pen, faint);
        for (const { row, k } of this.places)
            pen.fillRect(this.left, row.y + k * this.lane, this.right - this.left, this.lane - (this.lane > 5 ? 2 : 0.5));
        for (const tick of timeTicks(this.begin, this.end, Math.max(2, (this.right - this.left) / 90))) {
            const x = Math.round(this.x(tick.at)) + 0.5;
            rule(pen, x, TIME.top, x, bottom, line);
            write(pen, tick.text, Math.min(x, this.right - 16), bottom + 12, { align: "center" });
        }
        for (const [number, place] of this.places.entries()) {
            // Of many jobs within a pixel only one is drawn, but all failed ones.
            let drawnTo = -Infinity;
            for (const [k, j] of place.jobs.entries()) {
                if (k % 2000 === 1999)
                    yield;
                if (this.ends[j] < this.begin)
                    continue;
                const name = d.states[d.jobs.states[j]], box = this.boxIn(number, j), end = box[0] + box[2];
                if (end - drawnTo < 0.5 && (name !== "failed" || !matches[d.jobs.configs[j]]))
                    continue;
                drawnTo = end;
                this.drawJob(pen, name, box, matches[d.jobs.configs[j]]);
            }
            yield;
        }
    }

    drawJob(pen, name, box, isShown) {
        pen.fillStyle = theme.colours.card;
        pen.fillRect(...box);
        pen.globalAlpha = isShown ? 1 : 0.18;
        pen.fillStyle = theme.colours.states[name] || theme.colours.soft;
        pen.fillRect(...box);
        if (name === "failed" && box[2] > 4 && box[3] > 5)
            rule(pen, box[0], box[1] + box[3], box[0] + Math.min(box[2], box[3]), box[1], theme.isDark() ? "#14171b" : "#ffffff", 1.2);
        pen.globalAlpha = 1;
    }

    *drawFront() {
        const pen = this.picture.clear(1), marked = [this.at, this.page.jobViews[0].open];
        for (const j of [...this.page.sweep.jobsOf(this.page.hover), ...marked.filter((k) => k >= 0)]) {
            if (!(this.ends[j] >= this.begin))
                continue;
            pen.lineWidth = marked.includes(j) ? 2.5 : 1.5;
            pen.strokeStyle = theme.colours.text;
            for (const [x, y, width, height] of this.boxesOf(j))
                pen.strokeRect(x - 0.5, y - 0.5, width + 1, height + 1);
        }
    }

    // The job under the pointer: of the jobs in that place, the last one that began left of it or the next
    // one, if its rectangle is there; or NONE.
    jobAt([x, y]) {
        const row = this.rows.find((r) => y >= r.y - 1 && y < r.y + r.free.length * this.lane), { jobs } = this.page.sweep.d;
        const place = row && row.places[Math.max(0, Math.floor((y - row.y) / this.lane))];
        if (place === undefined || x < this.left - 1)
            return NONE;
        const ran = this.places[place].jobs;
        let low = 0, high = ran.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (this.x(jobs.started[ran[middle]]) <= x)
                low = middle + 1;
            else
                high = middle;
        }
        return [ran[low - 1], ran[low]].find((j) => {
            if (j === undefined || this.ends[j] < this.begin)
                return false;
            const [left, , width] = this.boxIn(place, j);
            return x >= left - 1 && x <= left + width + 1;
        }) ?? NONE;
    }

    listen() {
        this.box.addEventListener("pointermove", (event) => showJobUnder(this.page, this.jobAt(this.picture.at(event)), event));
        this.box.addEventListener("pointerleave", () => this.page.setHover(NONE, null));
        this.box.addEventListener("click", (event) => {
            const j = this.jobAt(this.picture.at(event));
            if (j >= 0)
                this.page.openJob(j);
        });
        this.box.addEventListener("keydown", (event) => {
            const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -this.order.length, End: this.order.length }[event.key];
            if (event.key === "Enter" && this.at >= 0)
                this.page.openJob(this.at);
            if (by === undefined || this.order.length === 0)
                return;
            event.preventDefault();
            const k = this.order.indexOf(this.at);
            this.at = this.order[k < 0 ? 0 : Math.min(this.order.length - 1, Math.max(0, k + by))];
            this.said.textContent = sayJob(this.page.sweep, this.at);
            this.picture.paint(1, this.drawFront());
        });
        this.box.addEventListener("blur", () => { this.at = NONE; this.picture.paint(1, this.drawFront()); });
    }
}

// A pattern of thin lines, for times in which no job ran.
function hatch(pen, colour) {
    const tile = make("canvas", { width: "6", height: "6" }), brush = tile.getContext("2d");
    brush.strokeStyle = colour;
    brush.beginPath();
    brush.moveTo(-1, 7);
    brush.lineTo(7, -1);
    brush.moveTo(-1, 1);
    brush.lineTo(1, -1);
    brush.moveTo(5, 7);
    brush.lineTo(7, 5);
    brush.stroke();
    return pen.createPattern(tile, "repeat");
}

const TIME_STEPS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800].map((s) => s * 1000);

// About n round times between begin and end, in the viewer's time zone.
function timeTicks(begin, end, n) {
    const step = TIME_STEPS.find((ms) => (end - begin) / ms <= n) || TIME_STEPS[TIME_STEPS.length - 1] * Math.ceil((end - begin) / n / TIME_STEPS[TIME_STEPS.length - 1]);
    const offset = new Date(begin).getTimezoneOffset() * 60e3, ticks = [];
    const two = (x) => String(x).padStart(2, "0");
    for (let at = Math.ceil((begin - offset) / step) * step + offset; at <= end; at += step) {
        const time = new Date(at), clock = `${two(time.getHours())}:${two(time.getMinutes())}`;
        ticks.push({ at, text: step >= 86400e3 || (step >= 3600e3 && clock === "00:00") ? `${two(time.getDate())}.${two(time.getMonth() + 1)}.` : step < 60e3 ? `${clock}:${two(time.getSeconds())}` : clock });
    }
    return ticks;
}

// ---- why jobs failed ----

class Triage {
    constructor(page, card) {
        Object.assign(this, { page, card });
        this.box = make("div");
        card.append(this.box);
    }

    layout() {
        const { triage } = this.page.sweep.d, causes = triage ? triage.causes : [];
        const failed = causes.reduce((n, c) => n + c.failed, 0);
        this.card.hidden = causes.length === 0;
        if (causes.length === 0)
            return;
        this.box.replaceChildren(make("p", { class: "hint" }, `${failed} of the ${triage.jobs} jobs that ended failed.`),
            make("ul", { class: "causes" }, ...causes.slice(0, 20).map((cause) => this.cause(cause))),
            causes.length > 20 ? make("p", { class: "hint" }, `and ${causes.length - 20} causes more (ludwig triage)`) : "");
    }

    cause(cause) {
        const { d } = this.page.sweep, j = d.jobs.names.indexOf(cause.first);
        return make("li", {},
            make("p", {}, make("b", {}, `${cause.failed} × `), make("code", {}, shorten(cause.example, 300))),
            ...cause.reasons.map((reason) => make("p", { class: reason.is_sure ? "" : "hint" },
                `${reason.failed_with} of ${reason.jobs_with} with `, make("b", {}, shorten(reason.test, 120)), `; ${reason.failed_without} of ${reason.jobs_without} without. `,
                reason.is_sure ? "" : `Perhaps by chance (p = ${fewDigits(reason.p, 2)}). `, this.filterButton(reason.test))),
            cause.reasons.length === 0 && cause.failed > 1 ? make("p", { class: "hint" }, "No parameter or node explains these.") : null,
            make("p", {}, j >= 0 ? make("button", { type: "button", class: "link", onclick: () => this.page.openJob(j) }, `job ${clean(cause.first)}`) : `job ${clean(cause.first)}`));
    }

    // A button that makes the test the filter, or "" if the test uses names that the page does not know.
    filterButton(test) {
        try {
            whereCompile(whereParse(test), (name) => this.page.sweep.cells(name));
        } catch {
            return "";
        }
        return make("button", { type: "button", class: "link", onclick: () => { this.page.setFilter(test); document.getElementById("filter").focus(); } }, "Show these");
    }

    change() {}
}

// ---- what the search decided ----

const DECISIONS_FIRST = 8, DECISIONS_MORE = 100;

// A table of the search's decisions, the newest first: which jobs it stopped early, did not begin, or
// resumed, and why.
class Decisions {
    constructor(page, card) {
        Object.assign(this, { page, card, most: DECISIONS_FIRST });
        this.hint = card.querySelector(".hint");
        this.body = make("tbody");
        this.table = make("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Table of decisions" },
            make("table", { class: "configs" }, make("caption", { class: "unseen" }, "Decisions, the last ones first"),
                make("thead", {}, make("tr", {}, ...["job", "configuration", "decision", "why"].map((name) => make("th", { scope: "col" }, name)))), this.body));
        this.more = make("button", { type: "button", class: "more", onclick: () => { this.most += DECISIONS_MORE; this.layout(); } });
        card.append(this.table, this.more);
    }

    layout() {
        const { sweep } = this.page, found = sweep.decisions(), [{ advisor }] = sweep.d.sweeps;
        const count = (what) => found.filter((x) => x.what === what).length;
        const said = [["stopped", "stopped early"], ["not begun", "not begun"], ["went on", "that went on again"]].filter(([what]) => count(what) > 0);
        const words = said.map(([what, text]) => `${count(what)} ${text}`).join(", ");
        this.card.hidden = found.length === 0 && !advisor;
        this.hint.replaceChildren(advisor ? `${shorten(advisor, 300)}. ` : "", words === "" ? "" : `Jobs: ${words}. `,
            count("stopped") + count("not begun") > 0 && sweep.names.has("stopped") ? make("button", { type: "button", class: "link", onclick: () => this.page.setFilter("stopped > 0") }, "Show these") : "");
        this.table.hidden = found.length === 0;
        this.more.hidden = found.length <= this.most;
        this.more.textContent = `Show more (${found.length - this.most} of ${found.length} are not shown)`;
        this.body.replaceChildren(...found.slice(0, this.most).map((x) => this.row(x)));
    }

    row({ job, what, why }) {
        const { d } = this.page.sweep, config = d.jobs.configs[job];
        const link = (text, run) => make("button", { type: "button", class: "link", onclick: run }, text);
        return make("tr", {}, make("th", { scope: "row" }, link(clean(d.jobs.names[job]), () => this.page.openJob(job))),
            make("td", {}, link(shorten(d.configs.names[config], 40), () => this.page.showDetails(config))),
            make("td", {}, stateSwatch(what === "went on" ? "running" : "stopped"), what), make("td", { class: "note" }, why === null ? "" : shorten(why, 400)));
    }

    // Called when jobs change.  Waits 400 ms for further changes before it updates the table.
    change() {
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.layout(), 400);
    }
}
