// axes.js - draws parallel coordinates, and a strip for each parameter; both have the same brushes
//
// A brush is an interval of an axis to which the filter restricts it.  It has no state of its own: the
// page reads brushes from the filter's text, and moving a brush rewrites that text.

const AXIS_TOP = 56, AXIS_BOTTOM = 36, AXIS_LEFT = 48, AXIS_RIGHT = 58, AXIS_GAP_MIN = 72, AXIS_GAP_MOST = 116, AXIS_REACH = 26;
const LINES_PER_STROKE = 12, DRAWN_MOST = 10000;

// ---- parallel coordinates ----

class Parallel {
    constructor(page, card) {
        this.page = page;
        this.hint = card.querySelector(".hint");
        this.scroller = make("div", { class: "scroller" });
        this.box = make("div", { class: "parallel", role: "group", "aria-label": "Parallel coordinates: one line for each configuration" });
        this.scroller.append(this.box);
        card.append(this.scroller);
        this.picture = new Picture(this.box, 3, () => 352, () => this.draw());
        this.handles = make("div", { class: "handles" });
        this.box.append(this.handles);
        this.listen();
    }

    axes() {
        const { sweep, metric } = this.page;
        return [...this.page.shownParams, sweep.measures[metric]];
    }

    // The distance between axes in pixels, with room for their names.
    gapFor(axes) {
        const [pen] = this.picture.pens;
        pen.font = "600 " + FONT;
        return Math.min(AXIS_GAP_MOST, Math.max(AXIS_GAP_MIN, ...axes.map((axis) => pen.measureText(shorten(axis.name, 40)).width + 8)));
    }

    // Called when axes or colours change.
    layout() {
        const axes = this.axes();
        this.hint.textContent = `${this.page.sweep.n > DRAWN_MOST ? `Lines of the best ${DRAWN_MOST / 2} and of as many others` : "One line for each configuration"}. Drag along an axis to filter; click it to let go.`;
        this.box.style.minWidth = `${AXIS_LEFT + AXIS_RIGHT + this.gapFor(axes) * (axes.length - 1)}px`;
        const isFlipped = (axis) => axis.isMeasure && this.page.sweep.metrics[this.page.metric].goal === "min";
        const before = this.lanes || [];
        this.lanes = axes.map((axis, k) => {
            const isSame = before[k] && before[k].axis.name === axis.name && before[k].axis.isMeasure === axis.isMeasure;
            return Object.assign(isSame ? before[k] : {}, { axis, isFlipped: isFlipped(axis) });
        });
        // Keep the handles if the axes are the same, so that a focused handle keeps the keyboard focus.
        if (before.length !== axes.length || this.lanes.some((lane) => !lane.handles))
            this.handles.replaceChildren(...this.lanes.flatMap((lane) => this.makeHandles(lane)));
        this.picture.fit(true);
    }

    draw() {
        if (!this.lanes || this.picture.width === 0)
            return;
        const { width, height } = this.picture, left = AXIS_LEFT, right = width - AXIS_RIGHT, n = this.lanes.length;
        Object.assign(this, { top: AXIS_TOP, bottom: height - AXIS_BOTTOM });
        this.lanes.forEach((lane, k) => { lane.x = n === 1 ? width / 2 : left + (right - left) * k / (n - 1); });
        this.placeLines();
        this.picture.paint(0, this.drawLines(0, this.page.sweep.rank(this.page.metric).order, true));
        this.update();
    }

    // Called when the filter changes.
    update() {
        if (!this.lanes || this.picture.width === 0)
            return;
        const { order } = this.page.sweep.rank(this.page.metric), { matches } = this.page;
        this.picture.paint(1, this.drawLines(1, order.filter((i) => matches[i]), false));
        this.picture.paint(2, this.drawAxes());
    }

    // Called when page.hover changes: highlights that configuration.  The other views have mark(), too.
    mark() {
        if (this.lanes)
            this.picture.paint(2, this.drawAxes());
    }

    y(lane, place) {
        return this.bottom - (lane.isFlipped ? 1 - place : place) * (this.bottom - this.top);
    }

    placeAt(lane, y) {
        const place = Math.min(1, Math.max(0, (this.bottom - y) / (this.bottom - this.top)));
        return lane.isFlipped ? 1 - place : place;
    }

    // Computes y of each configuration on each axis.  At a choice, where many lines would coincide, they
    // are spread, the best ones uppermost.
    placeLines() {
        const { ranks } = this.page.sweep.rank(this.page.metric), { n } = this.page.sweep;
        for (const lane of this.lanes) {
            const { axis } = lane, nChoices = axis.choices === null ? 0 : axis.choices.length;
            const spread = nChoices > 1 ? Math.min(26, (this.bottom - this.top) / (nChoices - 1) * 0.4) : nChoices * 26;
            lane.ys = new Float32Array(n);
            for (let i = 0; i < n; i++)
                lane.ys[i] = this.y(lane, axis.places[i]) - (nChoices > 0 ? (ranks[i] - 0.5) * spread : 0);
        }
    }

    // Draws the best lines first and the others below them, so that the first slice shows what matters.
    *drawLines(layer, all, isBehind) {
        const order = thinned(all, DRAWN_MOST), pen = this.picture.clear(layer), { ramp, faint } = theme.colours, { ranks } = this.page.sweep.rank(this.page.metric);
        pen.globalCompositeOperation = isBehind ? "source-over" : "destination-over";
        pen.lineJoin = "round";
        pen.lineWidth = order.length > 2000 ? 0.8 : order.length > 200 ? 1 : 1.6;
        pen.globalAlpha = Math.min(isBehind ? 0.5 : 0.9, 12 / Math.sqrt(order.length + 1));
        for (let at = 0; at < order.length; at += LINES_PER_STROKE) {
            pen.strokeStyle = isBehind ? faint : ramp[rampStep(ranks[order[at]])];
            const isSmall = !isBehind && order.length <= 200; // each line has its own colour
            if (!isSmall)
                pen.beginPath();
            for (let k = at; k < Math.min(order.length, at + LINES_PER_STROKE); k++) {
                if (isSmall) {
                    pen.beginPath();
                    pen.strokeStyle = ramp[rampStep(ranks[order[k]])];
                }
                this.trace(pen, order[k]);
                if (isSmall)
                    pen.stroke();
            }
            if (!isSmall)
                pen.stroke();
            yield;
        }
        pen.globalAlpha = 1;
        pen.globalCompositeOperation = "source-over";
    }

    trace(pen, i) {
        let isDown = false;
        for (const lane of this.lanes) {
            const y = lane.ys[i];
            if (Number.isNaN(y)) {
                isDown = false;
                continue;
            }
            if (isDown)
                pen.lineTo(lane.x, y);
            else
                pen.moveTo(lane.x, y);
            isDown = true;
        }
    }

    *drawAxes() {
        const pen = this.picture.clear(2), { text, card, accent, soft } = theme.colours, { page } = this;
        const gap = this.lanes.length > 1 ? this.lanes[1].x - this.lanes[0].x : 120;
        if (page.hover >= 0) {
            pen.lineJoin = "round";
            pen.beginPath();
            this.trace(pen, page.hover);
            pen.lineWidth = 6;
            pen.strokeStyle = card;
            pen.stroke();
            pen.lineWidth = 3;
            pen.strokeStyle = text;
            pen.stroke();
        }
        for (const lane of this.lanes) {
            const { x, axis } = lane, brush = page.brushes.get(axis);
            rule(pen, x, this.top, x, this.bottom, soft, 1.2);
            write(pen, axis.name, x, 14, { align: "center", colour: text, bold: true, width: Math.max(60, gap - 12) });
            if (axis.isMeasure)
                write(pen, page.sweep.metrics[page.metric].goal === "min" ? "low is good" : "high is good", x, 29, { align: "center" });
            for (const tick of axis.beyond === null ? axis.ticks(5) : [...axis.ticks(5), axis.beyond])
                this.label(pen, tick, lane, gap);
            if (brush) {
                const y0 = this.y(lane, brush[0]), y1 = this.y(lane, brush[1]), pad = axis.choices === null ? 0 : 13;
                pen.globalAlpha = 0.28;
                pen.fillStyle = accent;
                pen.fillRect(x - 9, Math.min(y0, y1) - pad, 18, Math.abs(y1 - y0) + 2 * pad);
                pen.globalAlpha = 1;
                pen.lineWidth = 1.5;
                pen.strokeStyle = accent;
                pen.strokeRect(x - 9, Math.min(y0, y1) - pad, 18, Math.abs(y1 - y0) + 2 * pad);
            }
            this.moveHandles(lane, brush);
        }
    }

    label(pen, tick, lane, gap) {
        const y = this.y(lane, tick.place), isLast = lane === this.lanes[this.lanes.length - 1];
        const x = isLast ? lane.x + 14 : lane.x - 14, width = isLast ? 44 : Math.min(gap - 24, 56);
        pen.font = FONT;
        pen.lineWidth = 4;
        pen.strokeStyle = theme.colours.card;
        pen.textAlign = isLast ? "left" : "right";
        pen.textBaseline = "middle";
        pen.lineJoin = "round";
        if (pen.measureText(clean(tick.text)).width <= width)
            pen.strokeText(clean(tick.text), x, y);
        write(pen, tick.text, x, y, { align: isLast ? "left" : "right", width, colour: theme.colours.text });
    }

    // ---- the brush ----

    // Each axis has two handles, by which keyboard and touch move the ends of the brush.
    makeHandles(lane) {
        lane.handles = [0, 1].map((end) => make("span", {
            class: "handle", role: "slider", tabindex: "0", "aria-orientation": "vertical",
            "aria-label": `${clean(lane.axis.name)}, ${end === 0 ? "lowest" : "highest"} shown`,
            "aria-valuemin": "0", "aria-valuemax": "100",
            onkeydown: (event) => this.onKey(event, lane, end),
            onpointerdown: (event) => this.dragHandle(event, lane, end),
        }));
        return lane.handles;
    }

    moveHandles(lane, brush) {
        const [from, to] = brush || [0, 1], pad = lane.axis.choices === null ? 9 : 14;
        [from, to].forEach((place, end) => {
            const handle = lane.handles[end], isUpper = (end === 1) !== lane.isFlipped;
            handle.style.transform = `translate(${lane.x}px, ${this.y(lane, place) + (isUpper ? -pad : pad)}px)`;
            handle.classList.toggle("upper", isUpper);
            handle.classList.toggle("set", Boolean(brush));
            handle.setAttribute("aria-valuenow", String(Math.round(place * 100)));
            handle.setAttribute("aria-valuetext", textAt(lane.axis, place));
        });
    }

    onKey(event, lane, end) {
        const step = stepOf(lane.axis) * (event.shiftKey ? 5 : 1), up = lane.isFlipped ? -step : step;
        const brush = [...(this.page.brushes.get(lane.axis) || [0, 1])];
        const moves = { ArrowUp: up, ArrowRight: up, ArrowDown: -up, ArrowLeft: -up, PageUp: 5 * up, PageDown: -5 * up, Home: -1, End: 1 };
        if (event.key === "Delete" || event.key === "Backspace" || event.key === "Escape")
            this.page.setBrush(lane.axis, null);
        else if (moves[event.key] !== undefined) {
            const [least, most] = end === 0 ? [0, brush[1]] : [brush[0], 1];
            brush[end] = Math.min(most, Math.max(least, brush[end] + moves[event.key]));
            this.page.setBrush(lane.axis, brush);
        } else
            return;
        event.preventDefault();
    }

    dragHandle(event, lane, end) {
        event.preventDefault();
        event.stopPropagation();
        lane.handles[end].focus({ preventScroll: true });
        const other = (this.page.brushes.get(lane.axis) || [0, 1])[1 - end];
        drag((moved) => this.page.setBrush(lane.axis, sorted(other, snap(lane.axis, this.placeAt(lane, this.picture.at(moved)[1])))));
    }

    laneAt(x) {
        return this.lanes.find((lane) => Math.abs(lane.x - x) < AXIS_REACH);
    }

    listen() {
        this.box.addEventListener("pointerdown", (event) => {
            const [x, y] = this.picture.at(event), lane = this.laneAt(x);
            if (!lane || event.button !== 0 || event.pointerType === "touch" || y < AXIS_TOP - 22)
                return;
            dragBrush(this.page, lane.axis, event, (at) => this.placeAt(lane, this.picture.at(at)[1]), true);
        });
        this.box.addEventListener("pointermove", (event) => {
            const [x, y] = this.picture.at(event);
            this.box.style.cursor = this.laneAt(x) ? "ns-resize" : "default";
            if (event.buttons === 0)
                this.page.setHover(this.nearest(x, y), event);
        });
        this.box.addEventListener("pointerleave", () => this.page.setHover(NONE, null));
        this.box.addEventListener("click", (event) => {
            const [x, y] = this.picture.at(event);
            if (!isEndOfDrag() && !this.laneAt(x) && this.nearest(x, y) >= 0)
                this.page.showDetails(this.nearest(x, y));
        });
    }

    // The configuration of the nearest line that matches the filter, less than 9 pixels away; or NONE.
    nearest(x, y) {
        const k = this.lanes.findIndex((lane, i) => i > 0 && lane.x >= x) - 1;
        if (k < 0 || y < this.top - 12 || y > this.bottom + 12)
            return NONE;
        const a = this.lanes[k], b = this.lanes[k + 1], part = (x - a.x) / (b.x - a.x), { matches, sweep } = this.page;
        let found = NONE, least = 9;
        for (let i = 0; i < sweep.n; i++) {
            const away = Math.abs(a.ys[i] * (1 - part) + b.ys[i] * part - y);
            if (matches[i] && away < least)
                [found, least] = [i, away];
        }
        return found;
    }
}

// At most `most` items of a list: its first most / 2, and as many of the rest at equal distances.
function thinned(all, most) {
    const half = most / 2, rest = all.length - half;
    return all.length <= most ? all : [...all.slice(0, half), ...Array.from({ length: half }, (_, k) => all[half + Math.floor(k * rest / half)])];
}

// Calls move when the pointer moves, until it is released; then calls end.
function drag(move, end = () => {}) {
    const onEnd = () => {
        window.removeEventListener("pointermove", move);
        window.removeEventListener("pointerup", onEnd);
        window.removeEventListener("pointercancel", onEnd);
        end();
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", onEnd);
    window.addEventListener("pointercancel", onEnd);
}

// When the last drag ended: the browser also reports its end as a click, which must be ignored.
let draggedAt = -Infinity;

function isEndOfDrag() {
    return performance.now() - draggedAt < 50;
}

// Makes a brush by dragging, from the press on an axis on.  With canShift, a drag that begins inside a
// brush moves that brush.  A press without a move removes the brush; if there is none, at an axis of
// choices, it selects the choice there.
function dragBrush(page, axis, event, placeOf, canShift) {
    const { clientX, clientY } = event, begin = placeOf(event), before = page.brushes.get(axis);
    const isInside = canShift && before && begin > before[0] && begin < before[1] && before[1] - before[0] < 1;
    let hasMoved = false;
    event.preventDefault();
    drag((moved) => {
        hasMoved = hasMoved || Math.hypot(moved.clientX - clientX, moved.clientY - clientY) > 3;
        if (hasMoved)
            page.setBrush(axis, isInside ? shifted(axis, before, placeOf(moved) - begin) : snapped(axis, begin, placeOf(moved)));
    }, () => {
        if (hasMoved)
            draggedAt = performance.now();
        else
            page.setBrush(axis, before || axis.choices === null ? null : snapped(axis, begin, begin));
    });
}

function sorted(x, y) {
    return x < y ? [x, y] : [y, x];
}

function stepOf(axis) {
    if (axis.choices !== null)
        return axis.choices.length > 1 ? 1 / (axis.choices.length - 1) : 1;
    return axis.isWhole && !axis.isLog && axis.high - axis.low < 50 ? 1 / Math.max(1, axis.high - axis.low) : 0.02;
}

// Moves a place on an axis of choices to the nearest choice.
function snap(axis, place) {
    if (axis.choices === null)
        return place;
    const last = Math.max(1, axis.choices.length - 1);
    return Math.round(place * last) / last;
}

// The brush of a drag from begin to end: on an axis of choices it reaches over the choices touched.
function snapped(axis, begin, end) {
    const [from, to] = sorted(begin, end);
    if (axis.choices === null || axis.choices.length < 2)
        return [from, to];
    const last = axis.choices.length - 1, reach = 0.35;
    const first = Math.ceil(from * last - reach), final = Math.floor(to * last + reach);
    return first <= final ? [Math.max(0, first) / last, Math.min(last, final) / last] : [snap(axis, from), snap(axis, from)];
}

function shifted(axis, [from, to], by) {
    const room = Math.min(1 - to, Math.max(-from, by));
    return [snap(axis, from + room), snap(axis, to + room)];
}

function textAt(axis, place) {
    if (axis.choices !== null)
        return axis.choices.length === 0 ? "" : clean(axis.choices[Math.round(place * (axis.choices.length - 1))].text);
    return fewDigits(axis.rounded(place));
}

// ---- strips ----

const STRIP = { width: 236, height: 210, left: 50, right: 12, top: 38, bottom: 40 };

class Strips {
    constructor(page, card) {
        this.page = page;
        this.hint = card.querySelector(".hint");
        this.box = make("div", { class: "strips", role: "img" });
        card.append(this.box);
        this.picture = new Picture(this.box, 3, (width) => this.place(width), () => this.draw());
        this.listen();
    }

    // Lays out the strips in rows; returns the height of all rows.
    place(width) {
        const n = this.page.shownParams.length, columns = Math.max(1, Math.min(n, Math.floor(width / STRIP.width)));
        const each = width / columns;
        this.strips = this.page.shownParams.map((axis, k) => {
            const x = (k % columns) * each, y = Math.floor(k / columns) * STRIP.height;
            return { axis, x, y, left: x + STRIP.left, right: x + each - STRIP.right, top: y + STRIP.top, bottom: y + STRIP.height - STRIP.bottom };
        });
        return Math.max(1, Math.ceil(n / columns)) * STRIP.height;
    }

    layout() {
        const { metrics } = this.page.sweep;
        this.hint.textContent = `${shorten(metrics[this.page.metric].name, 60)} over each; a bar is the median at that value.`;
        this.box.setAttribute("aria-label", `${clean(metrics[this.page.metric].name)} over each parameter; the table below has the values`);
        this.picture.fit(true);
    }

    draw() {
        if (this.picture.width === 0)
            return;
        this.placeDots();
        this.picture.paint(0, this.drawFrames());
        this.update();
    }

    update() {
        if (this.picture.width === 0 || !this.strips)
            return;
        this.picture.paint(1, this.drawMatches());
        this.picture.paint(2, this.drawFront());
    }

    mark() {
        if (this.strips)
            this.picture.paint(2, this.drawFront());
    }

    // Computes x of the dots.  At a choice they are spread, each configuration's always in the same way.
    placeDots() {
        const { n } = this.page.sweep;
        for (const strip of this.strips) {
            const { axis, left, right } = strip, nChoices = axis.choices === null ? 0 : axis.choices.length;
            const pad = nChoices > 0 ? (right - left) / (2 * nChoices) : 4;
            Object.assign(strip, { left: left + pad, right: right - pad, pad });
            strip.xs = new Float32Array(n);
            for (let i = 0; i < n; i++)
                strip.xs[i] = strip.left + axis.places[i] * (strip.right - strip.left) +
                    (nChoices > 0 ? (((i * 0.618034) % 1) - 0.5) * Math.min(pad, 40) : 0);
        }
    }

    *drawFrames() {
        const pen = this.picture.clear(0), { sweep, metric } = this.page;
        for (const strip of this.strips) {
            this.drawFrame(pen, strip);
            yield;
        }
        yield* this.drawDots(pen, sweep.rank(metric).order, true);
    }

    *drawMatches() {
        const pen = this.picture.clear(1), { sweep, metric, matches } = this.page;
        yield* this.drawDots(pen, sweep.rank(metric).order.filter((i) => matches[i]), false);
        // The medians are drawn above the dots.
        pen.globalCompositeOperation = "source-over";
        for (const strip of this.strips)
            if (strip.axis.choices !== null)
                this.drawMedians(pen, strip);
    }

    // Draws the best configurations first, and the others below them.
    *drawDots(pen, order, isBehind) {
        const { sweep, metric } = this.page, { ramp, faint } = theme.colours;
        const { ranks } = sweep.rank(metric), ys = sweep.measures[metric].places, few = order.length <= 300;
        const size = few ? 7 : order.length > 3000 ? 2.5 : 4, isNew = newPixels(this.picture);
        let drawn = 0;
        if (!isBehind)
            pen.globalCompositeOperation = "destination-over";
        for (const i of order) {
            pen.fillStyle = isBehind ? faint : ramp[rampStep(ranks[i])];
            for (const { xs, top, bottom } of this.strips) {
                const y = bottom - ys[i] * (bottom - top);
                if (Number.isNaN(xs[i]) || Number.isNaN(y))
                    continue;
                if (!few && !isNew(xs[i], y))
                    continue;
                drawn++;
                if (few) {
                    pen.beginPath();
                    pen.arc(xs[i], y, size / 2, 0, 7);
                    pen.fill();
                } else
                    pen.fillRect(xs[i] - size / 2, y - size / 2, size, size);
            }
            if (drawn > 80) {
                drawn = 0;
                yield;
            }
        }
        pen.globalCompositeOperation = "source-over";
    }

    drawFrame(pen, { axis, x, y, left, right, pad, top, bottom }) {
        const { sweep, metric } = this.page, measure = sweep.measures[metric];
        const ticks = measure.beyond === null ? measure.ticks(4) : [...measure.ticks(4), measure.beyond];
        ruleY(pen, ticks, { left: left - pad, right: right + pad, top, bottom });
        write(pen, axis.name, x + STRIP.left, y + 13, { colour: theme.colours.text, bold: true, width: right + pad - x - STRIP.left });
        ruleX(pen, axis.ticks(4), { left, right, bottom: bottom + 8 });
    }

    *drawFront() {
        const pen = this.picture.clear(2), { sweep, metric, hover, brushes } = this.page, { accent, text, card } = theme.colours;
        for (const strip of this.strips) {
            const { axis, left, right, pad, top, bottom } = strip, brush = brushes.get(axis);
            if (brush) {
                const reach = axis.choices === null ? 0 : pad;
                const x0 = left + brush[0] * (right - left) - reach, x1 = left + brush[1] * (right - left) + reach;
                pen.globalAlpha = 0.16;
                pen.fillStyle = accent;
                pen.fillRect(x0, top - 16, x1 - x0, bottom - top + 28);
                pen.globalAlpha = 1;
                pen.lineWidth = 1.5;
                pen.strokeStyle = accent;
                pen.strokeRect(x0, top - 16, x1 - x0, bottom - top + 28);
            }
            const y = hover >= 0 ? bottom - sweep.measures[metric].places[hover] * (bottom - top) : NaN;
            if (Number.isFinite(y) && Number.isFinite(strip.xs[hover])) {
                pen.beginPath();
                pen.arc(strip.xs[hover], y, 6, 0, 7);
                pen.lineWidth = 4;
                pen.strokeStyle = card;
                pen.stroke();
                pen.lineWidth = 2;
                pen.strokeStyle = text;
                pen.stroke();
            }
        }
    }

    drawMedians(pen, { axis, left, right, pad, top, bottom }) {
        const { sweep, metric, matches } = this.page, ys = sweep.measures[metric].places, byChoice = axis.choices.map(() => []);
        axis.indices.forEach((k, i) => k >= 0 && matches[i] && !Number.isNaN(ys[i]) && byChoice[k].push(ys[i]));
        byChoice.forEach((inside, k) => {
            if (inside.length < 3)
                return;
            inside.sort((p, q) => p - q);
            const y = bottom - inside[inside.length >> 1] * (bottom - top), last = axis.choices.length - 1;
            const x = left + (last === 0 ? 0.5 : k / last) * (right - left), half = Math.min(pad * 0.8, 24);
            rule(pen, x - half, y, x + half, y, theme.colours.soft, 2);
        });
    }

    stripAt(x, y) {
        return this.strips.find((s) => x > s.left - s.pad - 6 && x < s.right + s.pad + 6 && y > s.top - 8 && y < s.bottom + 8);
    }

    listen() {
        const placeAt = (strip, x) => Math.min(1, Math.max(0, (x - strip.left) / (strip.right - strip.left)));
        this.box.addEventListener("pointerdown", (event) => {
            const [x, y] = this.picture.at(event), strip = this.stripAt(x, y);
            if (!strip || event.button !== 0 || event.pointerType === "touch")
                return;
            dragBrush(this.page, strip.axis, event, (at) => placeAt(strip, this.picture.at(at)[0]), false);
        });
        this.box.addEventListener("pointermove", (event) => {
            const [x, y] = this.picture.at(event), strip = this.stripAt(x, y);
            this.box.style.cursor = strip ? "ew-resize" : "default";
            if (event.buttons === 0)
                this.page.setHover(strip ? this.nearest(strip, x, y) : NONE, event);
        });
        this.box.addEventListener("pointerleave", () => this.page.setHover(NONE, null));
    }

    nearest(strip, x, y) {
        const { sweep, metric, matches } = this.page, ys = sweep.measures[metric].places;
        let found = NONE, least = 100;
        for (let i = 0; i < sweep.n; i++) {
            const dx = strip.xs[i] - x, dy = strip.bottom - ys[i] * (strip.bottom - strip.top) - y;
            if (matches[i] && dx * dx + dy * dy < least)
                [found, least] = [i, dx * dx + dy * dy];
        }
        return found;
    }
}
