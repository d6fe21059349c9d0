// live.js - the live page, which `ludwig ui` serves: loads a sweep and follows its changes
//
// The page's address contains a token, which the page sends with every request in the header
// Ludwig-Token.  /data replies with all data of a sweep, /changes with changes of its jobs since then.
// The user's choices (measure, filter, order) survive both.

const ENDED = /^(done|failed|cancelled|stopped)$/;

class Live {
    constructor() {
        const query = new URLSearchParams(location.search);
        this.token = query.get("token") || "";
        this.sweep = Number(query.get("sweep")) || null;
        this.page = null;
        this.turn = 0; // grows with each choice of a sweep; replies to requests of an earlier turn are dropped
        this.banner = make("p", { class: "banner", role: "alert", hidden: true });
        this.said = make("p", { class: "toast", role: "status" });
        document.body.prepend(this.banner);
        document.body.append(this.said);
        this.question = new Question(this);
        this.sweeps = new SweepsPane(this, document.getElementById("sweeps"));
        this.nodes = new NodesPane(this, document.getElementById("nodes"));
        this.log = null;
        this.begin();
    }

    // ---- requests ----

    // Sends a request (POST if it has a body) and returns the response.  On failure throws an error with a
    // message of one line to show, and isAway if `ludwig ui` did not answer, else the status.
    async ask(path, body = null, signal = null) {
        const headers = { "Ludwig-Token": this.token };
        let answer;
        if (body !== null)
            headers["Content-Type"] = "application/json";
        try {
            answer = await fetch(path, { method: body === null ? "GET" : "POST", headers, body: body === null ? null : JSON.stringify(body), cache: "no-store", credentials: "omit", redirect: "error", signal });
        } catch (error) {
            throw Object.assign(new Error("`ludwig ui` does not answer: has it ended? Run it again, and open the address that it prints."), { isAway: true, isAborted: error.name === "AbortError" });
        }
        this.warn("away", "");
        if (answer.ok)
            return answer;
        const text = await answer.text();
        let line = text;
        try {
            line = JSON.parse(text).error;
        } catch {
            // the body is no JSON but the line itself
        }
        throw Object.assign(new Error(line), { status: answer.status });
    }

    async json(path, body = null) {
        return (await this.ask(path, body)).json();
    }

    // Shows a warning across the page.  Each reason has at most one text; "" removes it.
    warn(reason, text) {
        this.warnings = this.warnings || new Map();
        if ((this.warnings.get(reason) || "") === text)
            return;
        this.warnings.set(reason, text);
        const lines = [...this.warnings.values()].filter((line) => line !== "");
        this.banner.textContent = clean(lines.join(" "));
        this.banner.hidden = lines.length === 0;
    }

    // Shows the result of an action for some seconds.
    say(text, isBad = false) {
        this.said.textContent = clean(text);
        this.said.classList.toggle("bad", isBad);
        this.said.classList.add("shown");
        clearTimeout(this.saidTimer);
        this.saidTimer = setTimeout(() => this.said.classList.remove("shown"), isBad ? 12000 : 6000);
    }

    // ---- a sweep ----

    async begin() {
        for (;;)
            try {
                await this.sweeps.refresh();
                break;
            } catch (error) {
                this.warn("away", error.message);
                await pause(2000);
            }
        this.sweeps.every(5000);
        this.nodes.every(5000);
        if (this.sweep === null && this.sweeps.list.length > 0)
            this.sweep = this.sweeps.list[0].sweep;
        if (this.sweep !== null)
            this.show(this.sweep);
        else
            this.empty();
    }

    empty() {
        document.title = "ludwig";
        document.getElementById("name").textContent = "ludwig";
        for (const element of document.querySelectorAll("main > section:not([data-live]), .filterbar, #metric-label"))
            element.hidden = true;
        document.getElementById("none").hidden = false;
        document.getElementById("none").textContent = "You have no sweep yet. (ludwig submit)";
        theme.apply();
        setTimeout(() => this.begin(), 5000);
    }

    show(sweep) {
        const turn = ++this.turn;
        if (sweep !== this.sweep && this.page !== null) {
            this.page.setFilter("");
            this.log.close();
        }
        this.sweep = sweep;
        history.replaceState(null, "", `/?token=${encodeURIComponent(this.token)}&sweep=${sweep}`);
        this.sweeps.mark();
        this.follow(turn);
    }

    // Loads the sweep and follows its changes until another sweep is shown.
    async follow(turn) {
        let after = 0, data = 0, isLost = false, isFirst = true;
        while (turn === this.turn) {
            try {
                await visible();
                if (isFirst) {
                    const answer = await this.ask(`/data?sweep=${this.sweep}`), whole = await answer.json();
                    if (turn !== this.turn)
                        return;
                    after = Number(answer.headers.get("Ludwig-After"));
                    data = Number(answer.headers.get("Ludwig-Data"));
                    this.take(whole);
                    isFirst = false;
                }
                const news = await this.json(`/changes?sweep=${this.sweep}&after=${after}&data=${data}&lost=${isLost ? 1 : 0}`);
                if (turn !== this.turn)
                    return;
                after = news.after;
                isLost = news.lost !== null;
                this.warn("server", isLost ? `${news.lost} (trying again)` : "");
                this.change(news);
                isFirst = news.reset || news.data > data;
                this.warn("sweep", "");
            } catch (error) {
                if (turn !== this.turn)
                    return;
                this.warn(error.isAway ? "away" : "sweep", error.message || String(error));
                await pause(error.status === 404 ? 10000 : 2000);
                isFirst = true;
            }
        }
    }

    take(data) {
        if (this.page === null) {
            this.page = window.ludwigPage = new Page(data);
            this.page.isLive = true;
            this.page.openJob = (j) => this.log.open(this.page.sweep.d.jobs.names[j]);
            this.log = new LogPane(this, document.getElementById("jobs"));
            // On the live page the cards about jobs come before the results.
            document.getElementById("parallel").before(...["jobs", "triage", "decisions"].map((id) => document.getElementById(id)));
            this.page.take(data);
            new Deeds(this);
        } else
            this.page.take(data);
        this.showProgress(data.sweeps[0]);
        this.log.place();
    }

    // Takes a reply of /changes: updates these jobs in the data, and the views.
    change(news) {
        const { d } = this.page.sweep, { jobs } = d, changed = [];
        if (this.byName === undefined || this.byName.of !== d)
            this.byName = { of: d, at: new Map(jobs.names.map((name, j) => [name, j])) };
        for (const job of news.jobs) {
            const j = this.byName.at.get(job.job), state = d.states.indexOf(job.state);
            if (j === undefined || state < 0)
                continue;
            jobs.states[j] = state;
            jobs.nodes[j] = job.node;
            jobs.reasons[j] = job.reason;
            for (const rare of ["gpu_ids", "resumed"])
                if (job[rare])
                    (jobs[rare] ||= new Array(jobs.names.length).fill(null))[j] = job[rare];
            jobs.started[j] = job.started_at ? Date.parse(job.started_at) : 0;
            jobs.ended[j] = job.ended_at ? Date.parse(job.ended_at) : job.state === "publishing" ? jobs.ended[j] || Date.now() : 0;
            changed.push(j);
        }
        d.sweeps[0] = news.sweep;
        this.page.changeJobs(changed);
        this.showProgress(news.sweep);
        this.sweeps.change(news.sweep);
        if (changed.some((j) => jobs.names[j] === this.log.job))
            this.log.changed();
    }

    showProgress(info) {
        const state = document.getElementById("state"), { jobs } = info;
        state.replaceChildren(make("span", { class: `chip ${info.state}` }, info.state));
        document.getElementById("progress").replaceChildren(progressBar(info), make("span", {}, progressWords(info)));
        document.getElementById("progress").hidden = false;
        const held = document.getElementById("held");
        held.hidden = !info.held && !info.refused;
        held.textContent = clean([info.held, info.refused].filter(Boolean).join(" "));
        const ended = jobs.done + jobs.failed + jobs.cancelled + jobs.stopped, all = Object.values(jobs).reduce((x, y) => x + y, 0);
        if (!ENDED.test(info.state) && all > 0)
            document.title = clean(`${Math.floor(ended / all * 100)} % – ${info.name || info.project}, sweep ${info.sweep} – ludwig`);
        if (this.deeds)
            this.deeds.update(info);
    }
}

function pause(ms) {
    return new Promise((done) => setTimeout(done, ms));
}

// Waits until the page is visible: a hidden page sends no requests.
function visible() {
    if (!document.hidden)
        return Promise.resolve();
    return new Promise((done) => {
        const look = () => {
            if (!document.hidden) {
                document.removeEventListener("visibilitychange", look);
                done();
            }
        };
        document.addEventListener("visibilitychange", look);
    });
}

if (given === null)
    window.ludwigLive = new Live();
