// page.js - the page's state (sweep, measure, filter), and the views that show it
//
// The filter's text alone decides which configurations are shown; brushes are read from it, and moving
// a brush rewrites it.

class Page {
    constructor(data) {
        const card = (id) => document.getElementById(id);
        Object.assign(this, { sweep: null, metric: 0, filter: "", root: null, brushes: new Map(), hover: NONE, slowTimer: 0, measureViews: [] });
        theme.apply();
        this.details = new Details(this);
        this.openJob = (j) => this.showDetails(this.sweep.d.jobs.configs[j]);
        this.jobViews = [new Jobs(this, card("jobs")), new Timeline(this, card("timeline")), new Triage(this, card("triage")), new Decisions(this, card("decisions"))];
        this.take(data);
        document.body.append(tooltip.element);
        this.listen();
        this.retheme();
    }

    // Takes newer data, or another sweep's data.  The user's choices stay: measure, filter, order, scale.
    take(data) {
        const before = this.sweep, metric = before && before.metrics.length > 0 ? before.metrics[this.metric].name : null;
        this.sweep = new Sweep(data);
        painter.drop();
        const { metrics, params, n } = this.sweep, same = metrics.findIndex((m) => m.name === metric);
        this.metric = same >= 0 ? same : data.ranked_by !== null ? data.ranked_by : 0;
        this.shownParams = params;
        this.matches = new Uint8Array(n).fill(1);
        if (this.hover >= 0 && (this.hover >= n || data.configs.names[this.hover] !== before.d.configs.names[this.hover]))
            this.setHover(NONE, null);
        this.fillHead();
        this.makeViews();
        this.applyFilter();
        if (before !== null)
            this.layout();
        this.say();
    }

    // Makes the views of measures once there are measures; the views of jobs always exist.
    makeViews() {
        const card = (id) => document.getElementById(id), has = this.sweep.metrics.length > 0 && this.sweep.n > 0;
        for (const element of document.querySelectorAll("[data-needs-measure]"))
            element.hidden = !has;
        if (has && this.measureViews.length === 0)
            this.measureViews = [new Parallel(this, card("parallel")), new Strips(this, card("strips")), new Importance(this, card("importance")),
                new BestSoFar(this, card("best-so-far")), new Curves(this, card("curves")), this.table = new Table(this, card("table"))];
        this.views = [...(has ? this.measureViews : []), ...this.jobViews];
        card("none").hidden = has;
        card("strips").hidden = card("strips").hidden || this.sweep.params.length === 0;
    }

    // Makes the links to the parts of the page that are shown.
    linkParts() {
        const parts = [...document.querySelectorAll("main > section:not([hidden])")].map((s) => [s.id, s.querySelector("h2")]).filter(([, h]) => h !== null);
        const key = parts.map(([id]) => id).join();
        if (key === this.linked)
            return;
        this.linked = key;
        document.getElementById("nav").replaceChildren(...parts.map(([id, h]) => make("a", { href: `#${id}`, onclick: (event) => {
            event.preventDefault();
            document.getElementById(id).scrollIntoView();
            const first = document.getElementById(id).querySelector("h2");
            first.tabIndex = -1;
            first.focus({ preventScroll: true });
        } }, h.textContent)));
    }

    // Called when the states, nodes or times of these jobs have changed.
    changeJobs(indices) {
        if (indices.length === 0)
            return;
        for (const view of this.jobViews)
            view.change(indices);
    }

    // The current time in ms; for a page in a file, the time when the file was made.
    now() {
        return this.isLive ? Date.now() : Date.parse(this.sweep.d.made_at);
    }

    layout() {
        for (const view of this.views)
            view.layout();
        this.say();
        this.linkParts();
    }

    // ---- the head ----

    fillHead() {
        const { d, metrics } = this.sweep, [first] = d.sweeps;
        const numbers = d.sweeps.map((s) => s.sweep).join(", ");
        document.title = clean(`${first.name || d.project}, sweep ${numbers} – ludwig`);
        const text = (id, words) => { document.getElementById(id).textContent = words; };
        text("name", shorten(first.name || d.project, 80));
        text("what", `sweep${d.sweeps.length > 1 ? "s" : ""} ${numbers}`);
        document.getElementById("state").replaceChildren(...d.sweeps.slice(0, 1).map((s) => make("span", { class: `chip ${s.state}` }, s.state)));
        const facts = [`project ${d.project}`, first.user ? `by ${first.user}` : "", first.submitted_at ? `submitted ${first.submitted_at.slice(0, 16).replace("T", " ")} UTC` : "",
            `${this.sweep.n} configurations, ${d.jobs.names.length} jobs`, first.note || "", first.tags ? `tags ${first.tags}` : ""];
        text("facts", clean(facts.filter((f) => f !== "").join(" · ")));
        text("made", clean(`Made by ludwig ${d.ludwig} on ${d.made_at.slice(0, 16).replace("T", " ")} UTC. ${d.notes.join(" ")}`));
        const select = document.getElementById("metric");
        select.replaceChildren(...metrics.map((m, k) => make("option", { value: String(k) }, `${shorten(m.name, 40)} (${m.goal})`)));
        select.value = String(this.metric);
        select.closest("label").hidden = metrics.length < 2;
    }

    // Writes the sentence about the best configuration.
    say() {
        const { sweep, metric } = this, place = document.getElementById("best");
        const best = sweep.metrics.length > 0 ? sweep.best(metric) : NONE;
        place.replaceChildren();
        if (best < 0)
            return;
        const { mean, std } = sweep.d.measures[metric], params = this.shownParams.filter((a) => a.cell(best) !== null);
        place.append("Best ", make("b", {}, clean(sweep.metrics[metric].name)), " ", make("strong", {}, fewDigitsWith(mean[best], std[best])), " with ",
            ...params.slice(0, 8).flatMap((a, k) => [k > 0 ? ", " : "", make("span", { class: "pair" }, shorten(a.name, 24), " ", make("b", {}, shorten(a.text(best), 40)))]),
            params.length > 8 ? " …" : "", " (", make("button", { type: "button", class: "link", onclick: () => this.showDetails(best) }, shorten(sweep.d.configs.names[best], 40)), ")");
    }

    // ---- what is shown ----

    setFilter(text, isTyped = false) {
        const input = document.getElementById("filter"), problem = document.getElementById("problem");
        const isEmpty = text.trim() === "";
        let root = null;
        this.filter = text;
        if (!isTyped)
            input.value = text;
        try {
            root = isEmpty ? null : whereParse(text);
            if (root !== null)
                whereCompile(root, (name) => this.sweep.cells(name));
        } catch (error) {
            problem.textContent = clean(error.message);
            input.setAttribute("aria-invalid", "true");
            return;
        }
        problem.textContent = "";
        input.removeAttribute("aria-invalid");
        this.root = root;
        this.applyFilter();
        this.updateSoon();
    }

    // Applies the last filter that could be read.  If it has a name that newer data lacks, all configurations
    // are shown.
    applyFilter() {
        let test = () => true;
        try {
            test = this.root === null ? test : whereCompile(this.root, (name) => this.sweep.cells(name));
        } catch (error) {
            document.getElementById("problem").textContent = clean(error.message);
        }
        for (let i = 0; i < this.sweep.n; i++)
            this.matches[i] = test(i) ? 1 : 0;
        this.readBrushes(this.root);
        this.showCount();
    }

    showCount() {
        const { n } = this.sweep, shown = this.matches.reduce((x, y) => x + y, 0);
        document.getElementById("count").textContent = shown === n ? `all ${n}` : `${shown} of ${n}`;
        document.getElementById("clear").hidden = this.filter === "";
        document.getElementById("copy").hidden = this.filter === "";
    }

    brushable() {
        return [...this.shownParams, ...this.sweep.measures];
    }

    readBrushes(root) {
        const tests = root === null ? [] : root.type === "and" ? root.parts : [root];
        this.brushes.clear();
        for (const axis of this.brushable())
            for (const test of tests) {
                const part = test.type === "test" ? axis.interval(test) : null;
                if (part === null)
                    continue;
                const [from, to] = this.brushes.get(axis) || [0, 1];
                this.brushes.set(axis, [Math.max(from, part[0]), Math.min(to, part[1])]);
            }
    }

    // Rewrites the filter's text: replaces its tests that are brushes of this axis, and keeps all others.
    setBrush(axis, part) {
        const isNeeded = (test) => test.type !== "test" || axis.interval(test) === null;
        let kept = [];
        try {
            const root = this.filter.trim() === "" ? null : whereParse(this.filter);
            const parts = root === null ? [] : root.type === "and" ? root.parts : [root];
            kept = parts.filter(isNeeded).map((p) => (p.type === "or" ? `(${this.filter.slice(p.begin, p.end)})` : this.filter.slice(p.begin, p.end)));
        } catch {
            kept = []; // a text that cannot be parsed cannot be kept
        }
        const words = part === null ? "" : axis.words(...part);
        this.setFilter([...kept, ...(words === "" ? [] : [words])].join(" and "));
    }

    // Updates views after a change of the filter: those with brushes at once, the others after a pause.
    updateSoon() {
        const isQuick = (view) => view instanceof Parallel || view instanceof Strips;
        this.views.filter(isQuick).forEach((view) => view.update());
        clearTimeout(this.slowTimer);
        this.slowTimer = setTimeout(() => this.views.filter((view) => !isQuick(view) && view.update).forEach((view) => view.update()), 90);
    }

    setHover(config, event, rows = null) {
        if (config >= 0 && event !== null) {
            const { sweep, metric } = this, { d } = sweep;
            const params = this.shownParams.slice(0, 10).filter((a) => a.cell(config) !== null).map((a) => [a.name, a.text(config)]);
            const measure = [sweep.metrics[metric].name, measureText(d.measures[metric], config)];
            tooltip.show(event, d.configs.names[config], [...params, ...(rows !== null && rows.length > 0 ? rows : [measure])]);
        } else if (config < 0)
            tooltip.hide();
        if (config === this.hover)
            return;
        this.hover = config;
        for (const view of this.views) {
            if (view.mark)
                view.mark();
        }
    }

    showDetails(config) {
        tooltip.hide();
        this.details.show(config);
    }

    // ---- the controls ----

    listen() {
        const element = (id) => document.getElementById(id);
        element("filter").addEventListener("input", (event) => this.setFilter(event.target.value, true));
        element("clear").addEventListener("click", () => { this.setFilter(""); element("filter").focus(); });
        element("copy").addEventListener("click", () => this.copy());
        element("metric").addEventListener("change", (event) => { this.metric = Number(event.target.value); this.layout(); });
        element("theme").addEventListener("click", () => {
            theme.wanted = theme.isDark() ? "light" : "dark";
            this.retheme();
        });
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.retheme());
        document.addEventListener("keydown", (event) => {
            if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
                event.preventDefault();
                element("filter").focus();
            }
        });
        window.addEventListener("beforeprint", () => {
            theme.prints = true;
            this.retheme();
            painter.finish();
            this.views.forEach((view) => view.picture && view.picture.merge());
        });
        window.addEventListener("afterprint", () => { theme.prints = false; this.retheme(); });
    }

    retheme() {
        theme.apply();
        document.getElementById("theme").textContent = theme.isDark() ? "Light" : "Dark";
        document.getElementById("theme").setAttribute("aria-label", `Switch to ${theme.isDark() ? "light" : "dark"} colours`);
        this.layout();
    }

    // The command for a terminal that shows the configurations that match the filter.
    command() {
        const quoted = `'${this.filter.replace(/'/g, "'\\''")}'`;
        return `ludwig results ${this.sweep.d.sweeps.map((s) => s.sweep).join(" ")} --where ${quoted}`;
    }

    copy() {
        const area = make("textarea", { class: "unseen" });
        area.value = this.command();
        document.body.append(area);
        area.select();
        document.execCommand("copy"); // works also if the page is a file
        area.remove();
        document.getElementById("copy").focus();
        document.getElementById("copied").textContent = "Copied";
        setTimeout(() => { document.getElementById("copied").textContent = ""; }, 1600);
    }
}

const given = JSON.parse(document.getElementById("data").textContent);
if (given !== null) {
    if (given.nodes)
        fillNodes(document.getElementById("nodes"), given);
    window.ludwigPage = new Page(given);
}
