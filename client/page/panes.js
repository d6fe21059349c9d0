// panes.js - parts of the live page: sweeps, a job's log, nodes, and buttons for actions

// ---- a question before an action ----

class Question {
    constructor(live) {
        this.live = live;
        this.dialog = make("dialog", { class: "question", "aria-labelledby": "question-title" });
        document.body.append(this.dialog);
    }

    // Asks the user before an action.  scopes: [text, body of the request] each, of which the user can choose
    // one; the first is chosen at the beginning.  verb: the text of the button for yes.
    ask(title, details, scopes, verb, isBad = true) {
        const name = `scope-${Date.now()}`;
        const choices = scopes.map(([text], k) => make("label", { class: "scope" }, make("input", { type: "radio", name, value: String(k), checked: k === 0 }), text));
        const no = make("button", { type: "button", onclick: () => this.dialog.close() }, "No");
        const yes = make("button", { type: "button", class: isBad ? "bad" : "main", onclick: () => {
            const chosen = this.dialog.querySelector("input:checked");
            this.dialog.close();
            this.deed(scopes[chosen ? Number(chosen.value) : 0][1]);
        } }, verb);
        this.dialog.replaceChildren(make("h2", { id: "question-title" }, clean(title)), ...(scopes.length > 1 ? choices : []),
            ...details.map((line) => make("p", { class: "hint" }, clean(line))), make("div", { class: "buttons" }, no, yes));
        this.dialog.showModal();
        no.focus();
    }

    async deed(body) {
        try {
            const answer = await this.live.json("/do", body);
            this.live.say(answer.said);
            this.live.nodes.refresh().catch(() => {});
            this.live.sweeps.refresh().catch(() => {});
        } catch (error) {
            this.live.say(error.message, true);
        }
    }
}

// Writes jobs' numbers as commands take them, as a list of texts such as "7.1-40,50".
function jobRanges(sweep, numbers) {
    const parts = [];
    for (const n of [...numbers].sort((x, y) => x - y)) {
        const last = parts[parts.length - 1];
        if (last && last[1] === n - 1)
            last[1] = n;
        else
            parts.push([n, n]);
    }
    const words = [], each = 500;
    for (let i = 0; i < parts.length; i += each)
        words.push(`${sweep}.${parts.slice(i, i + each).map(([a, b]) => (a === b ? String(a) : `${a}-${b}`)).join(",")}`);
    return words;
}

const LONG_MS = 600e3;

// The buttons for the sweep that is shown.
class Deeds {
    constructor(live) {
        this.live = live;
        live.deeds = this;
        const button = (text, run) => make("button", { type: "button", onclick: run }, text);
        this.pause = button("Pause", () => this.pauseOrResume());
        this.retry = button("Retry…", () => this.change("retry", /^(failed|cancelled)$/, "Retry"));
        this.cancel = button("Cancel…", () => this.change("cancel", /^(?!done|failed|cancelled|stopped)/, "Cancel"));
        const place = document.getElementById("deeds");
        place.hidden = false;
        place.append(this.pause, this.retry, this.cancel);
    }

    update(info) {
        const { jobs } = info, isOver = ENDED.test(info.state) && jobs.held === 0;
        this.info = info;
        this.pause.hidden = isOver;
        this.pause.textContent = info.state === "paused" || jobs.held > 0 ? "Resume" : "Pause";
        this.cancel.hidden = isOver;
        this.retry.hidden = jobs.failed + jobs.cancelled === 0;
    }

    pauseOrResume() {
        const { sweep, jobs, state } = this.info, targets = [String(sweep)], waiting = jobs.queued + jobs.staging;
        if (state === "paused" || jobs.held > 0)
            this.live.question.ask(`Resume sweep ${sweep}?`, [`${jobs.queued + jobs.held} jobs wait.`], [["", { do: "resume", targets }]], "Resume", false);
        else
            this.live.question.ask(`Pause sweep ${sweep}?`, [`${waiting} jobs are kept back; ${jobs.running} that run go on.`], [["", { do: "pause", targets }]], "Pause", false);
    }

    // Asks before a change (cancel, retry) of the sweep's jobs in these states: all of them, or only those
    // that the filter shows.
    change(what, states, verb) {
        const { page } = this.live, { d } = page.sweep, { sweep } = this.info, prefix = `${sweep}.`;
        const all = d.jobs.names.map((_, j) => j).filter((j) => d.jobs.names[j].startsWith(prefix) && states.test(d.states[d.jobs.states[j]]));
        const shown = all.filter((j) => page.jobViews[0].isShown(j)), isFiltered = shown.length < all.length && shown.length > 0;
        const long = (list) => list.filter((j) => d.jobs.started[j] > 0 && d.states[d.jobs.states[j]] === "running" && Date.now() - d.jobs.started[j] > LONG_MS).length;
        const numbers = (list) => jobRanges(sweep, list.map((j) => Number(d.jobs.names[j].slice(prefix.length))));
        const count = (n) => `${n} job${n === 1 ? "" : "s"}`, scopes = [];
        if (isFiltered)
            scopes.push([`the ${count(shown.length)} that the filter shows`, { do: what, targets: numbers(shown) }]);
        scopes.push([`all ${count(all.length)} of sweep ${sweep}${what === "retry" ? " that failed or were cancelled" : " that are not over"}`, { do: what, targets: what === "retry" ? numbers(all) : [String(sweep)] }]);
        if (what === "cancel")
            scopes.push([`all that have not begun (${count(all.length - this.info.jobs.running)}); those that run may finish`, { do: what, targets: [String(sweep)], finish: true }]);
        const details = [];
        if (what === "cancel" && long(all) > 0)
            details.push(`${count(long(all))} ha${long(all) === 1 ? "s" : "ve"} run for more than 10 minutes.`);
        if (what === "cancel")
            details.push("What running jobs have done is discarded; logs and checkpoints stay.");
        this.live.question.ask(scopes.length > 1 ? `${verb} which jobs of sweep ${sweep}?` : `${verb} ${scopes[0][0]}?`, details, scopes, verb, what === "cancel");
    }
}

// ---- sweeps ----

const PROGRESS = ["done", "stopped", "failed", "cancelled", "running", "publishing", "staging", "held", "queued"];

function progressBar(info) {
    const all = Math.max(1, Object.values(info.jobs).reduce((x, y) => x + y, 0));
    return make("span", { class: "parts", "aria-hidden": "true" }, ...PROGRESS.filter((name) => info.jobs[name] > 0).map((name) => {
        const part = make("i");
        part.style.width = `${info.jobs[name] / all * 100}%`;
        part.style.background = theme.colours.states[name] || theme.colours.soft;
        return part;
    }));
}

function progressWords(info) {
    const words = PROGRESS.filter((name) => info.jobs[name] > 0).map((name) => `${info.jobs[name]} ${name}`);
    const { jobs } = info, slots = jobs.running + jobs.staging;
    const left = info.mean_ms > 0 && slots > 0 && info.state === "running" ? info.mean_ms * (jobs.queued + jobs.running / 2) / slots : 0;
    return words.join(", ") + (left > 0 ? `; about ${duration(left)} left` : "");
}

// A part of the page that is refreshed at intervals while the page is visible.
class Pane {
    constructor(live, card) {
        Object.assign(this, { live, card });
    }

    async every(ms) {
        for (;;) {
            await pause(ms);
            await visible();
            await this.refresh().catch((error) => error.isAway && this.live.warn("away", error.message));
        }
    }
}

class SweepsPane extends Pane {
    constructor(live, card) {
        super(live, card);
        this.list = [];
        this.isWhole = false;
        this.box = make("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Table of sweeps" });
        this.more = make("button", { type: "button", class: "more", onclick: () => { this.isWhole = !this.isWhole; this.layout(); } });
        card.append(this.box, this.more);
    }

    async refresh() {
        const answer = await this.live.json("/sweeps");
        this.list = answer.sweeps;
        this.layout();
    }

    change(info) {
        const k = this.list.findIndex((s) => s.sweep === info.sweep);
        if (k < 0)
            return;
        this.list[k] = info;
        this.layout();
    }

    mark() {
        this.layout();
    }

    layout() {
        const few = 5, shown = this.isWhole ? this.list : this.list.filter((s, k) => k < few || s.sweep === this.live.sweep);
        const focused = this.box.contains(document.activeElement) ? document.activeElement.dataset.sweep : null;
        if (!theme.colours.states)
            theme.apply();
        this.card.hidden = this.list.length < 2;
        this.more.hidden = this.list.length <= few;
        this.more.textContent = this.isWhole ? "Show fewer" : `Show all ${this.list.length}`;
        this.box.replaceChildren(make("table", { class: "configs" }, make("caption", { class: "unseen" }, "Sweeps, the newest first"),
            make("thead", {}, make("tr", {}, ...["sweep", "name", "state", "jobs", "submitted"].map((name) => make("th", { scope: "col" }, name)))),
            make("tbody", {}, ...shown.map((s) => this.row(s)))));
        if (focused)
            this.box.querySelector(`[data-sweep="${focused}"]`)?.focus({ preventScroll: true });
    }

    row(s) {
        const isShown = s.sweep === this.live.sweep, name = s.name ? `${s.name} (${s.project})` : s.project;
        return make("tr", { class: isShown ? "chosen" : "" },
            make("th", { scope: "row" }, make("button", { type: "button", class: "link", "data-sweep": String(s.sweep), "aria-current": isShown ? "true" : null, onclick: () => this.live.show(s.sweep) }, String(s.sweep))),
            make("td", {}, shorten(name, 60)), make("td", {}, make("span", { class: `chip ${s.state}` }, s.state)),
            make("td", { class: "progress" }, progressBar(s), make("span", {}, progressWords(s))),
            make("td", {}, s.submitted_at ? localTime(s.submitted_at) : ""));
    }
}

function localTime(text) {
    const at = new Date(text), two = (x) => String(x).padStart(2, "0");
    return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

// ---- nodes and pilots ----

class NodesPane extends Pane {
    constructor(live, card) {
        super(live, card);
        this.refresh().catch(() => {});
    }

    async refresh() {
        const answer = await this.live.json("/nodes");
        const focused = this.card.contains(document.activeElement) ? document.activeElement.dataset.node : null;
        fillNodes(this.card, answer, (n) => this.buttons(n), (job) => this.live.log && this.live.log.open(job));
        if (focused)
            this.card.querySelector(`[data-node="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    }

    buttons(n) {
        const isDrained = n.state === "drained", verb = isDrained ? "Undrain" : "Drain";
        return n.state === "lost" ? [] : [make("button", { type: "button", "data-node": n.node, "aria-label": `${verb} ${clean(n.node)}`, onclick: () => this.drain(n, isDrained) }, isDrained ? verb : `${verb}…`)];
    }

    drain(n, isDrained) {
        const name = clean(n.node), body = { do: isDrained ? "undrain" : "drain", nodes: [n.node] };
        if (isDrained)
            this.live.question.ask(`Give ${name} jobs again?`, [], [["", body]], "Undrain", false);
        else
            this.live.question.ask(`Drain ${name}?`, [`It gets no more jobs; ${n.running} that run there go on. Jobs that it has not started run elsewhere.`], [["", body]], "Drain");
    }
}

// ---- a job and its log ----

const LINES_MOST = 5000, LINES_READ_MOST = 100000, LINE_MOST = 4000, LOOK_MS = 1000;

// Turns bytes of a log into lines.  Colours are dropped; of text that a carriage return overwrites, only
// the last version is kept.
class LogText {
    constructor() {
        this.decoder = new TextDecoder();
        this.lines = [];
        this.open = ""; // the last line, which has no newline yet
        this.cut = 0;   // how many characters of the last line were dropped
        this.size = 0;  // how many bytes the last line has so far
    }

    // Adds bytes; returns the lines that are complete now.
    add(chunk) {
        const text = this.decoder.decode(chunk, { stream: true }), parts = text.split("\n"), ended = [];
        let at = 0;
        parts.forEach((part, k) => {
            const isWhole = k < parts.length - 1, end = isWhole ? chunk.indexOf(10, at) + 1 : chunk.length;
            this.open += part;
            this.size += end - at;
            at = end;
            if (isWhole) {
                ended.push({ text: this.line(), size: this.size });
                this.open = "";
                this.cut = this.size = 0;
            } else if (this.open.length > 64 * LINE_MOST) {
                this.cut += this.open.length - LINE_MOST;
                this.open = this.open.slice(0, LINE_MOST);
            }
        });
        return ended;
    }

    line() {
        let text = this.open.endsWith("\r") ? this.open.slice(0, -1) : this.open;
        const over = text.lastIndexOf("\r", text.length - 2);
        text = over >= 0 ? text.slice(over + 1) : text;
        // eslint-disable-next-line no-control-regex
        text = text.slice(0, 4 * LINE_MOST).replace(/\u001b\[[0-9;:?<=>]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]{0,2000}(?:\u0007|\u001b\\)|\u001b[()][A-Z0-9]|\u001b[=>78cMDE]/g, "").replace(/\t/g, "    ");
        const length = text.length + this.cut;
        return clean(text.slice(0, LINE_MOST)) + (length > LINE_MOST ? ` … (${length} characters)` : "");
    }
}

class LogPane {
    constructor(live, card) {
        Object.assign(this, { live, card, job: null, turn: 0 });
        const button = (text, label, run) => make("button", { type: "button", "aria-label": label, title: label, onclick: run }, text);
        this.title = make("h3", { id: "log-title" });
        this.facts = make("p", { class: "hint facts" });
        this.why = make("p", { class: "why" });
        this.follows = make("input", { type: "checkbox", id: "log-follow", checked: true, onchange: () => this.follows.checked && this.toEnd() });
        this.search = make("input", { type: "text", id: "log-search", placeholder: "Search", "aria-label": "Search in the log", autocomplete: "off", spellcheck: "false",
            oninput: () => this.find(0), onkeydown: (event) => { if (event.key === "Enter") { event.preventDefault(); this.find(event.shiftKey ? -1 : 1); } } });
        this.found = make("output", { "aria-live": "polite" });
        this.attempt = make("select", { "aria-label": "Attempt", hidden: true, onchange: () => this.read(Number(this.attempt.value)) });
        this.earlier = make("button", { type: "button", class: "link", hidden: true, onclick: () => this.readEarlier() }, "Show what came before");
        this.text = make("div", { class: "lines" });
        this.rest = make("div", { class: "line" });
        this.box = make("div", { class: "log", tabindex: "0", role: "log", "aria-live": "off", "aria-labelledby": "log-title" }, this.earlier, this.text, this.rest);
        this.deeds = make("span", { class: "buttons" });
        this.pane = make("aside", { class: "logpane", hidden: true, "aria-labelledby": "log-title", onkeydown: (event) => event.key === "Escape" && this.close() },
            make("div", { class: "logbar" }, this.title, make("span", { class: "grow" }), this.deeds, make("button", { type: "button", class: "close", "aria-label": "Close the log", onclick: () => this.close() }, "×")),
            this.facts, this.why,
            make("div", { class: "logbar" }, make("span", {}, this.follows, make("label", { for: "log-follow" }, "follow")), this.attempt, make("span", { class: "grow" }), this.search,
                button("↑", "Previous match", () => this.find(-1)), button("↓", "Next match", () => this.find(1)), this.found),
            this.box);
        // The squares and the other contents of the card stay beside the log.
        this.left = make("div", { class: "jobside" });
        this.left.append(...[...card.children].slice(1));
        card.append(make("div", { class: "jobsplit" }, this.left, this.pane));
        this.box.addEventListener("scroll", () => {
            const isAtEnd = this.box.scrollTop + this.box.clientHeight >= this.box.scrollHeight - 24;
            if (!this.isMoving)
                this.follows.checked = isAtEnd;
            this.isMoving = false;
        });
    }

    open(job) {
        this.job = job;
        this.pane.hidden = false;
        this.card.classList.add("withlog");
        this.search.value = "";
        this.found.textContent = "";
        this.title.textContent = `Job ${clean(job)}`;
        this.follows.checked = true;
        tooltip.hide();
        this.place();
        this.changed();
        this.read(null);
        this.pane.scrollIntoView({ block: "nearest" });
        this.box.focus({ preventScroll: true });
    }

    close() {
        if (this.job === null)
            return;
        this.job = null;
        this.turn++;
        this.pane.hidden = true;
        this.card.classList.remove("withlog");
        this.place();
        this.live.page.jobViews[0].box.focus({ preventScroll: true });
    }

    // Marks the job's square.  Called also after new data, in which the job may have another index.
    place() {
        if (this.live.page === null)
            return;
        const { page } = this.live;
        page.jobViews[0].open = this.job === null ? NONE : page.sweep.d.jobs.names.indexOf(this.job);
        page.jobViews.forEach((view) => view.mark && view.mark());
        if (this.job !== null)
            this.describe();
    }

    describe() {
        const { page } = this.live, { d } = page.sweep, j = d.jobs.names.indexOf(this.job);
        if (j < 0) {
            this.facts.textContent = "of another sweep";
            this.deeds.replaceChildren();
            return;
        }
        const config = d.jobs.configs[j], state = d.states[d.jobs.states[j]];
        const params = page.sweep.params.filter((a) => a.cell(config) !== null).map((a) => `${shorten(a.name, 30)}=${shorten(a.text(config), 40)}`);
        const ran = d.jobs.started[j] > 0 ? duration((d.jobs.ended[j] || Date.now()) - d.jobs.started[j]) : "";
        this.facts.replaceChildren(stateSwatch(state), [state, d.jobs.nodes[j] !== null ? `on ${shorten(d.jobs.nodes[j], 40)}` : "", ran !== "" ? `for ${ran}` : "", params.join(" ")].filter((x) => x !== "").join(" · "), " · ",
            make("button", { type: "button", class: "link", onclick: () => page.showDetails(config) }, shorten(d.configs.names[config], 40)));
        const deed = (what, title, details, isBad) => make("button", { type: "button", onclick: () =>
            this.live.question.ask(title, details, [["", { do: what, targets: [this.job], stopped: state === "stopped" }]], what === "cancel" ? "Cancel job" : "Retry job", isBad) }, what === "cancel" ? "Cancel…" : "Retry…");
        const had = this.deeds.contains(document.activeElement);
        this.deeds.replaceChildren(...(!ENDED.test(state) ? [deed("cancel", `Cancel job ${this.job}?`, [ran !== "" ? `It has run for ${ran}; what it has done is discarded, its log and checkpoint stay.` : "It has not begun."], true)]
            : state === "done" ? [] : [deed("retry", `Retry job ${this.job}?`, [state === "stopped" ? "It runs to its end, from its checkpoint where it has one, and is not stopped again." : "It runs the source as it was submitted."], false)]));
        if (had)
            (this.deeds.querySelector("button") || this.box).focus({ preventScroll: true });
    }

    // Called when the job has changed: shows why it is in its state, unless it runs or is done.
    async changed() {
        const { job } = this;
        this.describe();
        try {
            const why = await this.live.json(`/why?job=${encodeURIComponent(job)}`);
            if (job === this.job)
                this.why.textContent = /^(running|done)$/.test(why.job.state) ? "" : clean(why.lines.slice(0, 4).join(" · "));
        } catch {
            this.why.textContent = "";
        }
    }

    // ---- the job's log ----

    // Shows the log of an attempt (null: the newest), and follows it until the job has ended.
    async read(attempt) {
        const turn = ++this.turn, { job } = this;
        let from = -1, shown = null, log = new LogText(), quiet = 0;
        this.clear();
        while (turn === this.turn) {
            let isOver = false;
            try {
                const which = attempt !== null ? `&attempt=${attempt}` : "";
                const answer = await this.live.ask(`/log?job=${encodeURIComponent(job)}&from=${from}${which}`);
                const chunk = new Uint8Array(await answer.arrayBuffer()), number = (name) => Number(answer.headers.get(`Ludwig-${name}`));
                if (turn !== this.turn)
                    return;
                throwIfAbsent(answer, chunk);
                if (shown !== null && number("Attempt") !== shown) {
                    [from, shown, log] = [-1, null, new LogText()]; // the job has a new attempt
                    this.clear();
                    continue;
                }
                shown = number("Attempt");
                this.offerAttempts(number("Attempts"), shown);
                const part = from < 0 && number("Begin") > 0 ? withoutFirstLine(chunk) : chunk;
                if (from < 0)
                    this.setBegin(number("Begin") + chunk.length - part.length);
                this.show(log, part);
                from = number("End");
                const state = this.live.page.sweep.d.states[number("State")];
                isOver = from >= number("Size") && (ENDED.test(state) || (attempt !== null && shown < number("Attempts")));
                if (from < number("Size"))
                    continue;
            } catch (error) {
                if (turn !== this.turn)
                    return;
                this.rest.textContent = error.isAway ? this.rest.textContent : clean(error.message);
                this.live.warn("away", error.isAway ? error.message : "");
                isOver = (error.isAbsent || error.status === 404) && this.hasEnded();
            }
            await pause(LOOK_MS);
            await visible();
            // The last bytes of an ended job may arrive late, so look a few times more.  Then wait: a retry of
            // the job lets the log go on.
            quiet = isOver ? quiet + 1 : 0;
            if (quiet > 3)
                await this.untilNews(turn);
        }
    }

    hasEnded() {
        const { d } = this.live.page.sweep, j = d.jobs.names.indexOf(this.job);
        return j < 0 || ENDED.test(d.states[d.jobs.states[j]]);
    }

    async untilNews(turn) {
        while (turn === this.turn && this.hasEnded())
            await pause(LOOK_MS);
    }

    clear() {
        this.text.replaceChildren();
        this.rest.textContent = "";
        this.begin = 0;
        this.matches = [];
        this.current = NONE;
        this.earlier.hidden = true;
    }

    setBegin(begin) {
        this.begin = begin;
        this.earlier.hidden = begin === 0;
    }

    show(log, chunk) {
        const word = this.search.value.toLowerCase(), lines = log.add(chunk).map((line) => this.lineOf(line, word));
        const most = this.follows.checked ? LINES_MOST : LINES_READ_MOST;
        let begin = this.begin;
        this.rest.textContent = log.open === "" ? "" : log.line();
        // The oldest lines go, and can be asked for again.
        while (lines.length > 0 && this.text.childElementCount > 0 && this.text.childElementCount + lines.length > most) {
            begin += this.text.firstChild.logSize;
            this.text.firstChild.remove();
        }
        for (const line of lines.splice(0, lines.length - most))
            begin += line.logSize;
        this.text.append(...lines);
        this.setBegin(begin);
        if (word !== "" && lines.length > 0)
            this.count();
        if (this.follows.checked)
            this.toEnd();
    }

    lineOf({ text, size }, word) {
        const line = make("div", { class: word !== "" && text.toLowerCase().includes(word) ? "line hit" : "line" }, text === "" ? "\u00a0" : text);
        line.logSize = size;
        return line;
    }

    toEnd() {
        this.isMoving = this.box.scrollTop + this.box.clientHeight < this.box.scrollHeight - 1;
        this.box.scrollTop = this.box.scrollHeight;
    }

    async readEarlier() {
        const { turn, begin: before } = this, attempt = this.attempt.value !== "" ? `&attempt=${this.attempt.value}` : "";
        this.follows.checked = false;
        try {
            const answer = await this.live.ask(`/log?job=${encodeURIComponent(this.job)}&before=${before}${attempt}`);
            const chunk = new Uint8Array(await answer.arrayBuffer()), begin = Number(answer.headers.get("Ludwig-Begin")), log = new LogText();
            if (turn !== this.turn || before !== this.begin)
                return;
            throwIfAbsent(answer, chunk);
            const part = begin > 0 ? withoutFirstLine(chunk) : chunk, lines = log.add(part), height = this.box.scrollHeight;
            if (log.size > 0)
                lines.push({ text: log.line(), size: log.size });
            this.text.prepend(...lines.map((line) => this.lineOf(line, this.search.value.toLowerCase())));
            this.isMoving = true;
            this.box.scrollTop += this.box.scrollHeight - height;
            this.setBegin(begin + chunk.length - part.length);
        } catch (error) {
            this.live.say(error.message, true);
        }
    }

    offerAttempts(n, shown) {
        this.attempt.hidden = n < 2;
        if (this.attempt.childElementCount !== n)
            this.attempt.replaceChildren(...Array.from({ length: n }, (_, k) => make("option", { value: String(k + 1) }, `attempt ${k + 1}`)));
        this.attempt.value = String(shown);
    }

    // Searches the log.  by 0: searches anew; 1, -1: goes to the next match, or the one before.
    find(by) {
        const word = this.search.value.toLowerCase();
        if (by === 0)
            for (const line of this.text.children)
                line.classList.toggle("hit", word !== "" && line.textContent.toLowerCase().includes(word));
        this.count();
        const n = this.matches.length;
        this.box.querySelector(".line.now")?.classList.remove("now");
        if (n === 0) {
            this.found.textContent = word === "" ? "" : "none";
            return;
        }
        // Begin with the last match, because a log is read from its end.
        this.current = by === 0 || this.current < 0 ? n - 1 : (this.current + by + n) % n;
        const line = this.matches[this.current];
        line.classList.add("now");
        this.follows.checked = false;
        this.isMoving = true;
        line.scrollIntoView({ block: "nearest" });
        this.found.textContent = `${this.current + 1} of ${n}`;
    }

    count() {
        this.matches = [...this.text.querySelectorAll(".hit")];
        this.found.textContent = this.search.value === "" ? "" : this.matches.length === 0 ? "none" : `${Math.max(0, this.current) + 1} of ${this.matches.length}`;
    }
}

// That a log does not exist yet is a reply with words in place of the log.
function throwIfAbsent(answer, chunk) {
    if (answer.headers.has("Ludwig-Absent"))
        throw Object.assign(new Error(new TextDecoder().decode(chunk)), { isAbsent: true });
}

function withoutFirstLine(chunk) {
    const end = chunk.indexOf(10) + 1;
    return end === chunk.length ? chunk : chunk.subarray(end); // a line longer than the chunk is shown in parts
}
