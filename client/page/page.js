// page.js - the page's state (sweep, measure, filter), and the views that show it
//
// The filter's text alone decides which configurations are shown; brushes are read from it, and moving
// a brush rewrites it.

class Page {
    constructor(data) {
        this.sweep = new Sweep(data);
        this.metric = data.ranked_by !== null ? data.ranked_by : 0;
        this.shownParams = this.sweep.params;
        this.matches = new Uint8Array(this.sweep.n).fill(1);
        this.brushes = new Map();
        this.hover = NONE;
        this.slowTimer = 0;
        theme.apply();
        this.fillHead();
        this.makeViews();
        document.body.append(tooltip.element);
        this.listen();
        this.setFilter("");
        this.retheme();
        this.say();
    }

    // Makes the views of measures once there are measures; the views of jobs always exist.
    makeViews() {
        const card = (id) => document.getElementById(id);
        const has = this.sweep.metrics.length > 0 && this.sweep.n > 0;
        for (const element of document.querySelectorAll("[data-needs-measure]"))
            element.hidden = !has;
        this.views = has ? [new Parallel(this, card("parallel")), new Strips(this, card("strips")), new Importance(this, card("importance")),
            new BestSoFar(this, card("best-so-far")), new Curves(this, card("curves"))] : [];
        this.views.push(has ? this.table = new Table(this, card("table")) : null, new Jobs(this, card("jobs")));
        this.views = this.views.filter((v) => v !== null);
        card("none").hidden = has;
        card("strips").hidden = card("strips").hidden || this.sweep.params.length === 0;
        this.details = new Details(this);
    }

    layout() {
        for (const view of this.views)
            view.layout();
        this.say();
    }

    // ---- the head ----

    fillHead() {
        const { d, metrics } = this.sweep, [first] = d.sweeps;
        const numbers = d.sweeps.map((s) => s.sweep).join(", ");
        document.title = clean(`${first.name || d.project}, sweep ${numbers} – ludwig`);
        const text = (id, words) => { document.getElementById(id).textContent = words; };
        text("name", shorten(first.name || d.project, 80));
        text("what", `sweep${d.sweeps.length > 1 ? "s" : ""} ${numbers}`);
        document.getElementById("state").append(...d.sweeps.slice(0, 1).map((s) => make("span", { class: `chip ${s.state}` }, s.state)));
        const facts = [`project ${d.project}`, first.user ? `by ${first.user}` : "", first.submitted_at ? `submitted ${first.submitted_at.slice(0, 16).replace("T", " ")} UTC` : "",
            `${this.sweep.n} configurations, ${d.jobs.names.length} jobs`, first.note || "", first.tags ? `tags ${first.tags}` : ""];
        text("facts", clean(facts.filter((f) => f !== "").join(" · ")));
        text("made", clean(`Made by ludwig ${d.ludwig} on ${d.made_at.slice(0, 16).replace("T", " ")} UTC. ${d.notes.join(" ")}`));
        const select = document.getElementById("metric");
        select.append(...metrics.map((m, k) => make("option", { value: String(k) }, `${shorten(m.name, 40)} (${m.goal})`)));
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
        let root = null, test = () => true;
        this.filter = text;
        if (!isTyped)
            input.value = text;
        try {
            root = isEmpty ? null : whereParse(text);
            test = isEmpty ? test : whereCompile(root, (name) => this.sweep.cells(name));
        } catch (error) {
            problem.textContent = clean(error.message);
            input.setAttribute("aria-invalid", "true");
            return;
        }
        problem.textContent = "";
        input.removeAttribute("aria-invalid");
        for (let i = 0; i < this.sweep.n; i++)
            this.matches[i] = test(i) ? 1 : 0;
        this.readBrushes(root);
        this.showCount();
        this.updateSoon();
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
        for (const view of this.views)
            view.layout();
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

window.ludwigPage = new Page(JSON.parse(document.getElementById("data").textContent));
