// curves.js - draws learning curves with a band over replications, and the best value so far

const FRAME = { left: 58, right: 20, top: 26, bottom: 40 };
const BANDS_MAX = 12; // no bands for more curves, as they would hide each other
const ENDS_MAX = 400; // likewise no bars at the ends of curves that were stopped early

// The interval of values to show: a few outliers are left out, so that the other values have room.
function usefulRange(values) {
    const finite = values.filter(Number.isFinite).sort((x, y) => x - y);
    if (finite.length === 0)
        return [0, 1];
    const at = (q) => finite[Math.round(q * (finite.length - 1))];
    const low = finite[0], high = finite[finite.length - 1];
    const spread = at(0.9) / 2 - at(0.1) / 2;
    const from = Math.max(low, at(0.1) - 6 * spread), to = Math.min(high, at(0.9) + 6 * spread);
    return spread > 0 ? [from, to] : [low, high];
}

class Curves {
    constructor(page, card) {
        this.page = page;
        this.hint = card.querySelector(".hint");
        this.chosenLog = new Map(); // by name of the measure: whether the user wants a log scale
        this.log = make("input", { type: "checkbox", id: "log-y", onchange: () => { this.chosenLog.set(this.page.sweep.metrics[this.page.metric].name, this.log.checked); this.draw(); } });
        card.querySelector(".tools").append(this.log, make("label", { for: "log-y" }, "log scale"));
        this.box = make("div", { class: "curves", role: "img" });
        this.empty = make("p", { class: "empty" });
        card.append(this.box, this.empty);
        this.picture = new Picture(this.box, 2, (width) => (width < 600 ? 260 : 340), () => this.draw());
        this.box.addEventListener("pointermove", (event) => {
            const found = this.nearest(...this.picture.at(event));
            this.page.setHover(found ? found.curve.config : NONE, event, found ? this.pointRows(found) : []);
        });
        this.box.addEventListener("pointerleave", () => this.page.setHover(NONE, null));
    }

    layout() {
        const { sweep, metric } = this.page, { name } = sweep.metrics[metric];
        this.curves = sweep.curves(metric);
        this.hint.textContent = "Means over replications; the band is one standard deviation." +
            (this.curves.some((c) => c.isStopped) ? " A bar ends what was stopped early." : "");
        this.empty.textContent = this.curves.some((c) => c.x.length > 1) ? ""
            : this.curves.length > 0 ? `Each job reported ${clean(name)} once only.`
                : `There is no series of ${clean(name)}.`;
        this.box.hidden = this.empty.textContent !== "";
        this.box.setAttribute("aria-label", `${clean(name)} at each step, one line for each configuration`);
        this.picture.fit(true);
    }

    draw() {
        if (this.picture.width === 0)
            return;
        this.update();
    }

    update() {
        if (this.picture.width === 0 || this.box.hidden)
            return;
        const { sweep, metric, matches } = this.page, { ranks } = sweep.rank(metric);
        this.shown = this.curves.filter((c) => matches[c.config])
            .sort((x, y) => (ranks[x.config] || 0) - (ranks[y.config] || 0));
        this.scale();
        this.picture.paint(0, this.drawAll());
        this.picture.paint(1, this.drawFront());
    }

    mark() {
        if (this.shown)
            this.picture.paint(1, this.drawFront());
    }

    scale() {
        const { width, height } = this.picture, values = [];
        let low = Infinity, high = -Infinity;
        const stride = Math.ceil(this.shown.length / 500);
        this.shown.forEach((c, k) => {
            low = Math.min(low, c.x[0]);
            high = Math.max(high, c.x[c.x.length - 1]);
            if (k % stride === 0)
                values.push(...c.mean);
        });
        const isPositive = values.every((v) => !(v <= 0)), [from, to] = usefulRange(values);
        const isLog = this.chosenLog.get(this.page.sweep.metrics[this.page.metric].name) ?? (from > 0 && to / from > 300);
        this.log.disabled = !isPositive;
        this.log.checked = isLog && isPositive;
        const useLog = this.log.checked, pad = (to - from) * 0.04 || Math.abs(from) * 0.1 || 1;
        Object.assign(this, {
            x0: low, x1: high, useLog,
            y0: useLog ? from / 1.1 : from - pad, y1: useLog ? to * 1.1 : to + pad,
            frame: { left: FRAME.left, right: width - FRAME.right, top: FRAME.top, bottom: height - FRAME.bottom },
        });
    }

    x(step) {
        return this.frame.left + fractionOf(step, this.x0, this.x1, false) * (this.frame.right - this.frame.left);
    }

    y(value) {
        const least = this.useLog ? this.y0 / 10 : -Infinity;
        const place = fractionOf(Math.max(value, least), this.y0, this.y1, this.useLog);
        return this.frame.bottom - Math.min(20, Math.max(-20, place)) * (this.frame.bottom - this.frame.top);
    }

    *drawAll() {
        const pen = this.picture.clear(0), { frame } = this, { ramp } = theme.colours;
        const { ranks } = this.page.sweep.rank(this.page.metric);
        ruleY(pen, scaleTicks(this.y0, this.y1, this.useLog, 5), frame);
        ruleX(pen, scaleTicks(this.x0, this.x1, false, Math.max(2, this.picture.width / 110)), frame);
        write(pen, "step", frame.right, this.picture.height - 9, { align: "right" });
        write(pen, this.page.sweep.metrics[this.page.metric].name, 0, 7, { width: frame.right });
        if (this.shown.length === 0)
            return;
        this.clip(pen);
        if (this.shown.length <= BANDS_MAX)
            for (const curve of this.shown)
                this.band(pen, curve, ramp[rampStep(ranks[curve.config] || 0)], 0.14);
        pen.lineJoin = "round";
        for (const [k, curve] of this.shown.entries()) {
            const rank = ranks[curve.config];
            pen.strokeStyle = Number.isNaN(rank) ? theme.colours.soft : ramp[rampStep(rank)];
            pen.setLineDash(Number.isNaN(rank) ? [4, 3] : []);
            pen.lineWidth = this.shown.length > 200 ? 1 : 1.8;
            this.line(pen, curve);
            pen.setLineDash([]);
            if (curve.isStopped && this.shown.length <= ENDS_MAX)
                this.end(pen, curve);
            if (k % 16 === 15)
                yield;
        }
        pen.restore();
    }

    clip(pen) {
        const { left, right, top, bottom } = this.frame;
        pen.save();
        pen.beginPath();
        pen.rect(left - 2, top - 6, right - left + 4, bottom - top + 12);
        pen.clip();
    }

    line(pen, curve) {
        let isDown = false;
        pen.beginPath();
        curve.x.forEach((step, i) => {
            const value = curve.mean[i];
            if (!Number.isFinite(value)) {
                isDown = false;
                return;
            }
            if (isDown)
                pen.lineTo(this.x(step), this.y(value));
            else
                pen.moveTo(this.x(step), this.y(value));
            isDown = true;
        });
        pen.stroke();
        if (curve.x.length === 1 && isDown) {
            pen.beginPath();
            pen.arc(this.x(curve.x[0]), this.y(curve.mean[0]), 2.5, 0, 7);
            pen.stroke();
        }
    }

    end(pen, curve) {
        const last = curve.mean.length - 1, x = this.x(curve.x[last]), y = this.y(curve.mean[last]);
        if (Number.isFinite(y))
            rule(pen, x, y - 5, x, y + 5, pen.strokeStyle, 2);
    }

    band(pen, curve, colour, alpha) {
        const points = curve.x.map((step, i) => [step, curve.mean[i], curve.deviation[i]])
            .filter(([, mean, deviation]) => Number.isFinite(mean) && Number.isFinite(deviation));
        if (points.every(([, , deviation]) => deviation === 0))
            return;
        pen.globalAlpha = alpha;
        pen.fillStyle = colour;
        pen.beginPath();
        for (const [step, mean, deviation] of points)
            pen.lineTo(this.x(step), this.y(mean + deviation));
        for (const [step, mean, deviation] of points.reverse())
            pen.lineTo(this.x(step), this.y(mean - deviation));
        pen.closePath();
        pen.fill();
        pen.globalAlpha = 1;
    }

    // Draws the line of page.hover or, if there is none, the best line.
    *drawFront() {
        const pen = this.picture.clear(1), { hover, sweep, metric } = this.page;
        const wanted = hover >= 0 ? hover : sweep.best(metric);
        const curve = this.shown.find((c) => c.config === wanted);
        if (!curve)
            return;
        const { text, card, ramp } = theme.colours, rank = sweep.rank(metric).ranks[wanted];
        this.clip(pen);
        this.band(pen, curve, ramp[rampStep(rank || 0)], this.shown.length <= BANDS_MAX && hover < 0 ? 0.12 : 0.3);
        pen.lineJoin = "round";
        pen.strokeStyle = card;
        pen.lineWidth = 5;
        this.line(pen, curve);
        pen.strokeStyle = hover >= 0 ? text : ramp[rampStep(rank || 0)];
        pen.lineWidth = 2.6;
        this.line(pen, curve);
        pen.restore();
        const last = curve.mean.length - 1, label = `${hover >= 0 ? "" : "best: "}${sweep.d.configs.names[wanted]}`;
        const y = Math.min(this.frame.bottom - 8, Math.max(this.frame.top + 8, this.y(curve.mean[last]) + 16));
        pen.strokeStyle = card;
        pen.lineWidth = 4;
        pen.font = "600 " + FONT;
        pen.textBaseline = "middle";
        pen.textAlign = "right";
        const x = Math.min(this.frame.right - 2, Math.max(this.frame.left + 140, this.x(curve.x[last])));
        pen.strokeText(shorten(label, 40), x, y);
        write(pen, shorten(label, 40), x, y, { align: "right", colour: text, bold: true });
    }

    nearest(x, y) {
        let found = null, least = 14;
        for (const curve of this.shown || []) {
            const step = this.x0 + (x - this.frame.left) / (this.frame.right - this.frame.left) * (this.x1 - this.x0);
            let low = 0, high = curve.x.length - 1;
            while (low < high) {
                const middle = (low + high) >> 1;
                if (curve.x[middle] < step)
                    low = middle + 1;
                else
                    high = middle;
            }
            for (const i of [low - 1, low]) {
                if (i < 0 || !Number.isFinite(curve.mean[i]))
                    continue;
                const away = Math.hypot((this.x(curve.x[i]) - x) / 3, this.y(curve.mean[i]) - y);
                if (away < least)
                    [found, least] = [{ curve, i }, away];
            }
        }
        return found;
    }

    pointRows({ curve, i }) {
        const n = curve.n[i];
        return [["step", fewDigits(curve.x[i], 8)],
            [this.page.sweep.metrics[this.page.metric].name, `${fewDigitsWith(curve.mean[i], curve.deviation[i])}${n > 1 ? ` (${n})` : ""}`]];
    }
}

// ---- the best so far ----

// A dot for each configuration at the end of its first job that is done, and a line for the best mean so
// far.
class BestSoFar {
    constructor(page, card) {
        this.page = page;
        this.byWork = make("input", { type: "checkbox", id: "by-work", onchange: () => this.draw() });
        card.querySelector(".tools").append(this.byWork, make("label", { for: "by-work" }, "over job hours"));
        this.box = make("div", { class: "best-so-far", role: "img" });
        card.append(this.box);
        this.picture = new Picture(this.box, 2, () => 230, () => this.draw());
        this.box.addEventListener("pointermove", (event) => {
            const [x, y] = this.picture.at(event), isNear = (p) => (this.x(p.x) - x) ** 2 + (this.y(p.y) - y) ** 2 < 81;
            const found = (this.points || []).find(isNear);
            this.page.setHover(found ? found.config : NONE, event);
        });
        this.box.addEventListener("pointerleave", () => this.page.setHover(NONE, null));
    }

    layout() {
        const { name } = this.page.sweep.metrics[this.page.metric];
        this.box.setAttribute("aria-label", `The best mean of ${clean(name)} as jobs ended`);
        this.picture.fit(true);
    }

    // The points.  x of a configuration: when its first done job ended, or the work of all jobs up to then;
    // if no job has times, its number in the order of jobs.
    read() {
        const { d } = this.page.sweep, { jobs } = d, { mean } = d.measures[this.page.metric];
        const done = jobs.names.map((_, j) => j).filter((j) => jobs.states[j] === d.done && mean[jobs.configs[j]] !== null);
        const timed = done.filter((j) => jobs.ended[j] > 0).sort((a, b) => jobs.ended[a] - jobs.ended[b]);
        this.hasTimes = timed.length > 0;
        this.byWork.disabled = !this.hasTimes;
        const began = timed.reduce((least, j) => Math.min(least, jobs.started[j] || jobs.ended[j]), Infinity);
        let work = 0;
        const seen = new Set(), points = [];
        const add = (j, x) => {
            const config = jobs.configs[j];
            if (!seen.has(config))
                points.push({ config, x, value: mean[config], y: this.axis.places[config] });
            seen.add(config);
        };
        done.filter((j) => !(jobs.ended[j] > 0)).forEach((j, k) => add(j, this.hasTimes ? 0 : k + 1));
        for (const j of timed) {
            work += Math.max(0, jobs.ended[j] - (jobs.started[j] || jobs.ended[j]));
            add(j, this.byWork.checked ? work : jobs.ended[j] - began);
        }
        return points;
    }

    draw() {
        if (this.picture.width === 0)
            return;
        const { width, height } = this.picture;
        this.axis = this.page.sweep.measures[this.page.metric];
        this.points = this.read();
        Object.assign(this, {
            x1: this.points.reduce((most, p) => Math.max(most, p.x), this.hasTimes ? 1 : 2),
            frame: { left: FRAME.left, right: width - FRAME.right, top: FRAME.top + 8, bottom: height - FRAME.bottom - 18 },
        });
        this.update();
    }

    update() {
        if (this.picture.width === 0 || !this.points)
            return;
        this.picture.paint(0, this.drawAll());
        this.mark();
    }

    mark() {
        if (this.points)
            this.picture.paint(1, this.drawFront());
    }

    x(at) {
        return this.frame.left + fractionOf(at, 0, this.x1, false) * (this.frame.right - this.frame.left);
    }

    y(place) {
        return this.frame.bottom - place * (this.frame.bottom - this.frame.top);
    }

    *drawAll() {
        const pen = this.picture.clear(0), { frame, points } = this, { sweep, metric, matches } = this.page;
        const { ranks } = sweep.rank(metric), { ramp, accent, faint } = theme.colours;
        ruleY(pen, this.axis.beyond === null ? this.axis.ticks(4) : [...this.axis.ticks(4), this.axis.beyond], frame);
        const unit = this.x1 < 120e3 ? [1e3, "s"] : this.x1 < 7200e3 ? [60e3, "min"] : [3600e3, "h"];
        const [size, name] = this.hasTimes ? unit : [1, ""];
        ruleX(pen, scaleTicks(0, this.x1 / size, false, Math.max(2, this.picture.width / 110)), { ...frame, bottom: frame.bottom + 18 });
        write(pen, this.hasTimes ? `${this.byWork.checked ? "work of jobs" : "since the first job began"}, ${name}` : "jobs done",
            frame.right, this.picture.height - 9, { align: "right" });
        write(pen, sweep.metrics[metric].name, 0, 7, { width: frame.right });
        const isNew = newPixels(this.picture);
        let drawn = 0;
        for (const p of points) {
            if (!isNew(this.x(p.x), this.y(p.y)))
                continue;
            pen.fillStyle = matches[p.config] ? ramp[rampStep(ranks[p.config])] : faint;
            pen.beginPath();
            pen.arc(this.x(p.x), this.y(p.y), points.length > 500 ? 2 : 3.5, 0, 7);
            pen.fill();
            if (++drawn % 200 === 0)
                yield;
        }
        const isBetter = (p, q) => (sweep.metrics[metric].goal === "min" ? p < q : p > q);
        let best = null;
        pen.beginPath();
        for (const p of points) {
            if (best !== null && !isBetter(p.value, best.value))
                continue;
            if (best === null)
                pen.moveTo(this.x(p.x), this.y(p.y));
            else {
                pen.lineTo(this.x(p.x), this.y(best.y));
                pen.lineTo(this.x(p.x), this.y(p.y));
            }
            best = p;
        }
        if (best !== null)
            pen.lineTo(frame.right, this.y(best.y));
        pen.lineWidth = 2;
        pen.strokeStyle = accent;
        pen.stroke();
    }

    *drawFront() {
        const pen = this.picture.clear(1), { text, card } = theme.colours, at = this.page.hover < 0 ? undefined : this.points.find((p) => p.config === this.page.hover);
        if (at === undefined)
            return;
        pen.beginPath();
        pen.arc(this.x(at.x), this.y(at.y), 6, 0, 7);
        pen.strokeStyle = card;
        pen.lineWidth = 4;
        pen.stroke();
        pen.strokeStyle = text;
        pen.lineWidth = 2;
        pen.stroke();
    }
}
