// draw.js - functions that all pictures use: elements, canvases, colours, drawing in slices
//
// A picture with very many lines is drawn in slices, one in each frame, so that the page stays responsive.

// ---- elements ----

function make(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
        if (name === "class")
            element.className = value;
        else if (name.startsWith("on"))
            element.addEventListener(name.slice(2), value);
        else if (value !== null && value !== false)
            element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((c) => c !== null));
    return element;
}

// ---- colours ----

// Colours of ranks, from the worst to the best.  Their contrast to the background grows, and people who
// confuse red and green can tell them apart.
const RAMPS = {
    light: ["#dccb86", "#a3c46f", "#4fa884", "#2a788e", "#3a3c84", "#3b1160"],
    dark: ["#4a3f80", "#3c5f9a", "#2a8a97", "#3cb583", "#a4d83f", "#fdea45"],
};
const RAMP_STEPS = 48;

// Colours of job states after Okabe and Ito; marks tell the states apart, too.
const STATE_COLOURS = {
    light: { queued: "#c3c7cd", held: "#b07aa1", staging: "#e0b000", running: "#3f9fe0", publishing: "#7a86c8", done: "#009e73", failed: "#d0450a", cancelled: "#8a8f98", stopped: "#5d6b7e" },
    dark: { queued: "#4a505a", held: "#cc79a7", staging: "#e6c229", running: "#56b4e9", publishing: "#97a3e6", done: "#1db98a", failed: "#f0692e", cancelled: "#7d838d", stopped: "#a9b6c6" },
};
const STATE_MARKS = { failed: "cross", stopped: "bar", cancelled: "slash", held: "slash", running: "dot", staging: "dot", publishing: "dot" };

const theme = {
    wanted: "auto",
    colours: {},

    isDark() {
        const dark = matchMedia("(prefers-color-scheme: dark)").matches;
        return !theme.prints && (theme.wanted === "auto" ? dark : theme.wanted === "dark");
    },
    apply() {
        const name = theme.isDark() ? "dark" : "light", root = document.documentElement;
        root.dataset.theme = name;
        const style = getComputedStyle(root), colour = (v) => style.getPropertyValue(v).trim();
        theme.colours = {
            text: colour("--text"), soft: colour("--soft"), rule: colour("--rule"), card: colour("--card"),
            accent: colour("--accent"), faint: colour("--faint"), states: STATE_COLOURS[name],
            ramp: Array.from({ length: RAMP_STEPS }, (_, i) => mixRamp(RAMPS[name], i / (RAMP_STEPS - 1))),
        };
    },
};

function mixRamp(stops, t) {
    const place = t * (stops.length - 1), k = Math.min(stops.length - 2, Math.floor(place)), part = place - k;
    const channel = (hex, i) => parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
    const mixed = [0, 1, 2].map((i) => Math.round(channel(stops[k], i) * (1 - part) + channel(stops[k + 1], i) * part));
    return `rgb(${mixed.join(",")})`;
}

function rampStep(rank) {
    return Math.min(RAMP_STEPS - 1, Math.max(0, Math.round(rank * (RAMP_STEPS - 1))));
}

// ---- drawing in slices ----

const FRAME_MS = 22, STEPS_LEAST = 6, STEPS_MOST = 3000;

// Runs drawings, which are generators that yield after each step.  A new drawing of a layer replaces the
// layer's unfinished one.  A browser may do a step's work only after the frame's callback, so painter
// adapts the number of steps in a frame to how long frames last.
const painter = {
    drawings: new Map(),
    isDue: false,
    steps: 60,
    began: 0, // when the last frame began, if it used up its steps; else 0

    paint(layer, drawing) {
        painter.drawings.set(layer, drawing);
        painter.ask();
    },
    // Forgets unfinished drawings: what they draw is not there any more.
    drop() {
        painter.drawings.clear();
        painter.ask();
    },
    ask() {
        if (!painter.isDue && painter.drawings.size > 0)
            requestAnimationFrame(painter.frame);
        painter.isDue = painter.drawings.size > 0;
        document.documentElement.toggleAttribute("data-drawing", painter.isDue);
    },
    frame(now) {
        const lasted = painter.began > 0 ? now - painter.began : 0;
        if (lasted > FRAME_MS)
            painter.steps = Math.max(STEPS_LEAST, Math.floor(painter.steps * 0.75));
        else if (lasted > 0)
            painter.steps = Math.min(STEPS_MOST, Math.ceil(painter.steps * 1.1));
        const until = performance.now() + FRAME_MS / 2;
        let left = painter.steps;
        painter.isDue = false;
        // All drawings take turns, one step each.
        while (painter.drawings.size > 0 && left > 0 && performance.now() < until)
            for (const [layer, drawing] of painter.drawings) {
                left--;
                if (drawing.next().done)
                    painter.drawings.delete(layer);
            }
        painter.began = left <= 0 ? now : 0;
        painter.ask();
    },
    finish() {
        for (const drawing of painter.drawings.values())
            while (!drawing.next().done);
        painter.drawings.clear();
        painter.ask();
    },
};

// ---- canvases ----

const PRINTED_MOST = 6000; // largest height of a picture on paper, in pixels

// Several canvases above each other in an element, the box, as wide as the box.  If the box lies in an
// element that scrolls it (scroller), the canvases are only as high as the visible part of the box and
// stay in view: scrolling draws them anew.  The visible part is `seen` pixels high, from `top` on.
class Picture {
    constructor(box, nLayers, heightOf, redraw, scroller = null) {
        Object.assign(this, { box, heightOf, redraw, scroller, width: 0, height: 0, top: 0, seen: 0 });
        box.classList.add("picture");
        this.layers = Array.from({ length: nLayers }, () => make("canvas", { "aria-hidden": "true" }));
        this.pens = this.layers.map((canvas) => canvas.getContext("2d"));
        this.stack = make("div", { class: "stack" }, ...this.layers);
        box.append(...(scroller === null ? this.layers : [this.stack]));
        new ResizeObserver(() => this.fit(false)).observe(box);
        if (scroller !== null)
            scroller.addEventListener("scroll", () => this.scroll(), { passive: true });
    }

    fit(isForced) {
        const width = Math.floor(this.box.clientWidth);
        // While the page is printed, a new width of the box only scales the picture, because nothing is drawn
        // once printing has begun.
        if (width === 0 || (!isForced && (width === this.width || theme.prints)))
            return;
        const whole = Math.ceil(this.heightOf(width)), height = theme.prints ? Math.min(whole, PRINTED_MOST) : whole;
        Object.assign(this, { width, height, seen: height });
        this.box.style.height = `${height}px`;
        this.box.style.aspectRatio = `${width} / ${height}`;
        if (this.scroller !== null && !theme.prints)
            this.seen = Math.min(height, this.scroller.clientHeight || height);
        this.scale = Math.min(2, window.devicePixelRatio || 1, 32000 / this.seen);
        this.layers.forEach((canvas) => {
            canvas.width = Math.round(width * this.scale);
            canvas.height = Math.round(this.seen * this.scale);
            canvas.style.width = `${width}px`;
            canvas.style.height = `${this.seen}px`;
        });
        this.stack.style.height = `${this.seen}px`;
        this.place();
        this.redraw();
    }

    // Makes the pens' coordinates those of the whole box, whichever part of it is visible.
    place() {
        this.top = this.scroller === null || theme.prints ? 0 : this.stack.offsetTop;
        this.pens.forEach((pen) => pen.setTransform(this.scale, 0, 0, this.scale, 0, -this.top * this.scale));
    }

    scroll() {
        const { top } = this;
        if (this.width === 0 || theme.prints)
            return;
        this.place();
        if (this.top !== top)
            this.redraw();
    }

    clear(layer) {
        this.pens[layer].clearRect(0, this.top, this.width, this.seen);
        return this.pens[layer];
    }

    // Starts a drawing (a generator), which replaces the layer's unfinished one.
    paint(layer, drawing) {
        if (this.width > 0)
            painter.paint(this.layers[layer], drawing);
    }

    // For printing: copies all layers into the first one; the other layers are hidden on paper.  A browser
    // prints by replaying what was drawn, and clearing an upper layer would then erase the layers below.
    merge() {
        for (const layer of this.layers.slice(1))
            if (layer.width > 0)
                this.pens[0].drawImage(layer, 0, this.top, this.width, this.seen);
    }

    at(event) {
        const box = this.layers[0].getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top + this.top];
    }
}

// Returns a function that tells whether it is called for this pixel for the first time, so that only one
// of many dots at the same pixel is drawn.
function newPixels({ width, height }) {
    const taken = new Uint8Array(width * height);
    return (x, y) => {
        const at = Math.round(y) * width + Math.round(x), isNew = taken[at] === 0;
        taken[at] = 1;
        return isNew;
    };
}

const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

function write(pen, text, x, y, { align = "left", colour = theme.colours.soft, bold = false, width = Infinity } = {}) {
    pen.font = bold ? "600 " + FONT : FONT;
    pen.textAlign = align;
    pen.textBaseline = "middle";
    pen.fillStyle = colour;
    let shown = clean(text);
    if (pen.measureText(shown).width > width) {
        let n = Math.min(shown.length, 80);
        while (n > 1 && pen.measureText(shown.slice(0, n) + "…").width > width)
            n--;
        shown = shown.slice(0, n) + "…";
    }
    pen.fillText(shown, x, y);
}

function rule(pen, x0, y0, x1, y1, colour = theme.colours.rule, width = 1) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.lineTo(x1, y1);
    pen.stroke();
}

// Draws the labels of a y axis, each with a line from left to right.
function ruleY(pen, ticks, { left, right, top, bottom }) {
    for (const tick of ticks) {
        const y = bottom - tick.place * (bottom - top);
        if (y < top - 20 || y > bottom + 20)
            continue;
        rule(pen, left, Math.round(y) + 0.5, right, Math.round(y) + 0.5);
        write(pen, tick.text, left - 8, y, { align: "right", width: left - 10 });
    }
}

function ruleX(pen, ticks, { left, right, bottom }) {
    let end = -Infinity;
    for (const tick of ticks) {
        const x = left + tick.place * (right - left);
        pen.font = FONT;
        const half = pen.measureText(tick.text).width / 2;
        if (x - half < end + 8)
            continue;
        end = x + half;
        rule(pen, Math.round(x) + 0.5, bottom, Math.round(x) + 0.5, bottom + 4);
        write(pen, tick.text, Math.min(x, right + 14 - half), bottom + 13, { align: "center" });
    }
}

function scaleTicks(low, high, isLog, n) {
    return niceTicks(low, high, isLog, n).map((x) => ({ place: fractionOf(x, low, high, isLog), text: fewDigits(x) }));
}

// ---- the tooltip beside the pointer ----

const tooltip = {
    element: make("div", { class: "tooltip", "aria-hidden": "true", hidden: true }),

    // Shows the heading and below it the rows, [name, text] each.
    show(event, heading, rows) {
        const { element } = tooltip;
        element.replaceChildren(make("strong", {}, shorten(heading, 60)),
            ...rows.map(([name, text]) => make("div", {}, make("span", {}, shorten(name, 40)), make("b", {}, shorten(text, 60)))));
        element.hidden = false;
        const left = event.clientX + 16 + element.offsetWidth > innerWidth ? event.clientX - 12 - element.offsetWidth : event.clientX + 16;
        const top = Math.min(event.clientY + 14, innerHeight - element.offsetHeight - 8);
        element.style.left = `${Math.max(4, left)}px`;
        element.style.top = `${Math.max(4, top)}px`;
    },
    hide() {
        tooltip.element.hidden = true;
    },
};
