// data.js - reads the page's data: configurations, axes, ranks, curves
//
// This file draws nothing.  Texts of users and jobs reach the document only by clean() and textContent.

const NONE = -1;

// Replaces control characters, and marks that change the direction of writing, by U+FFFD.
function clean(text) {
    return String(text).replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

function shorten(text, length) {
    const whole = clean(text);
    return whole.length <= length ? whole : whole.slice(0, length - 1) + "…";
}

// ---- numbers as text ----

// All digits that are needed, written as Python's repr and the terminal's tables do.
function exactFloat(x) {
    if (!Number.isFinite(x))
        return Number.isNaN(x) ? "nan" : x < 0 ? "-inf" : "inf";
    const [digits, exponent] = Math.abs(x).toExponential().split("e");
    const sign = x < 0 || Object.is(x, -0) ? "-" : "", point = Number(exponent);
    if (x === 0 || (point >= -4 && point < 16)) {
        const plain = Math.abs(x).toFixed(Math.max(1, digits.replace(".", "").length - 1 - point));
        return sign + (Number(plain) === Math.abs(x) ? plain : String(Math.abs(x)));
    }
    return `${sign}${digits}e${point < 0 ? "-" : "+"}${String(Math.abs(point)).padStart(2, "0")}`;
}

// So many significant digits, without zeros at the end.
function fewDigits(x, digits = 4) {
    if (!Number.isFinite(x))
        return exactFloat(x);
    if (x === 0)
        return "0";
    const size = Math.abs(x);
    if (size >= 1e6 || size < 1e-4)
        return x.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
    const text = x.toPrecision(digits);
    return text.includes("e") ? String(Math.round(x)) : text.replace(/(\.[0-9]*?)0+$/, "$1").replace(/\.$/, "");
}

function fewDigitsWith(mean, deviation) {
    if (mean === null || Number.isNaN(mean))
        return "nan";
    if (!(deviation > 0))
        return fewDigits(mean);
    const decimals = Math.min(12, Math.max(0, 1 - Math.floor(Math.log10(deviation))));
    return Math.abs(mean) >= 1e6 || (decimals > 6 && Math.abs(mean) < 1e-4)
        ? `${fewDigits(mean)} ± ${fewDigits(deviation, 2)}`
        : `${mean.toFixed(decimals)} ± ${deviation.toFixed(decimals)}`;
}

function duration(ms) {
    const s = ms / 1000;
    return s < 60 ? `${fewDigits(s, 2)} s` : s < 3600 ? `${fewDigits(s / 60, 2)} min`
        : s < 172800 ? `${fewDigits(s / 3600, 3)} h` : `${fewDigits(s / 86400, 3)} d`;
}

// ---- scales ----

// Where x lies from low (0) to high (1).  It computes with halves, because the difference of two finite
// numbers may overflow.
function fractionOf(x, low, high, isLog) {
    if (!(high > low))
        return 0.5;
    if (isLog)
        return (Math.log(x) - Math.log(low)) / (Math.log(high) - Math.log(low));
    return (x / 2 - low / 2) / (high / 2 - low / 2);
}

function numberAt(fraction, low, high, isLog) {
    if (isLog)
        return Math.exp(Math.log(low) + fraction * (Math.log(high) - Math.log(low)));
    return low * (1 - fraction) + high * fraction;
}

// About n round numbers between low and high.
function niceTicks(low, high, isLog, n) {
    const ticks = [];
    if (!(high > low) || !Number.isFinite(high - low))
        return [low];
    if (isLog) {
        const decades = Math.log10(high / low);
        const steps = decades * 2 > n ? [1] : decades * 3 > n ? [1, 3] : [1, 2, 5];
        const stride = Math.max(1, Math.ceil(decades / n));
        for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e++)
            for (const step of steps) {
                const x = step * 10 ** e;
                if (x >= low * 0.999 && x <= high * 1.001 && (step > 1 || e % stride === 0))
                    ticks.push(x);
            }
        return ticks.length > 1 ? ticks : [low, high];
    }
    const rough = (high - low) / n, size = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((k) => k * size).find((k) => k >= rough * 0.7);
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
        ticks.push(Number((i * step).toPrecision(12)));
    return ticks;
}

// Whether a logarithmic scale suits the numbers: their median lies nearer to the middle of it than of a
// linear scale.  The same rule as in client/importance/axis.c.
function looksLogarithmic(sorted) {
    const low = sorted[0], high = sorted[sorted.length - 1], middle = sorted[sorted.length >> 1];
    return sorted.length > 2 && low > 0 && high / low >= 10 &&
        Math.abs(fractionOf(middle, low, high, true) - 0.5) < Math.abs(fractionOf(middle, low, high, false) - 0.5);
}

// The worst value that an axis should show.  It is not the worst of all if an earlier end more than halves
// the axis and hides at most a third of the values.
function worstShown(ascending, isMin) {
    const values = isMin ? ascending : [...ascending].reverse(), n = values.length;
    if (n < 4)
        return values[n - 1];
    const limit = values[n >> 1] + 5 * (values[n >> 1] - values[0]), shown = values.filter((x) => (isMin ? x <= limit : x >= limit));
    const end = shown[shown.length - 1], all = Math.abs(values[n - 1] / 2 - values[0] / 2);
    return shown.length >= n * 2 / 3 && Math.abs(end / 2 - values[0] / 2) < all / 2 ? end : values[n - 1];
}

// ---- axes ----

// Values that an axis does not show are drawn this fraction of its length beyond its end.
const BEYOND = 0.08;

// The value of a number for --where.  Its text is made on demand, because it is seldom needed and slow.
class NumberCell {
    constructor(value, isWhole, given) {
        this.value = value;
        this.isWhole = isWhole;
        this.given = given;
    }

    get text() {
        return this.given !== null ? this.given : this.isWhole ? String(this.value) : exactFloat(this.value);
    }
}

// A parameter or a measure of all configurations.  places: where each configuration lies on the axis, from
// 0 to 1, or beyond; NaN if it has no value.
class Axis {
    constructor(name, whereName, isMeasure) {
        Object.assign(this, { name, whereName, isMeasure, choices: null, beyond: null });
    }

    static ofChoices(name, whereName, p) {
        const axis = new Axis(name, whereName, false), n = p.choices.length;
        axis.choices = p.choices.map(choiceOf);
        axis.isNumeric = axis.choices.every((c) => typeof c.value === "number");
        axis.indices = Int32Array.from(p.places, (place) => (place === null ? NONE : place));
        axis.places = Float64Array.from(axis.indices, (k) => (k < 0 ? NaN : n === 1 ? 0.5 : k / (n - 1)));
        axis.cell = (i) => (axis.indices[i] < 0 ? null : axis.choices[axis.indices[i]]);
        return axis;
    }

    static ofNumbers(name, whereName, p, isMeasure = false) {
        const axis = new Axis(name, whereName, isMeasure);
        Object.assign(axis, { low: p.low, high: p.high, isLog: p.log, isWhole: p.kind === "whole", isNumeric: true });
        axis.values = Float64Array.from(p.values, (x) => (x === null ? NaN : x));
        axis.places = axis.values.map((x) => (Number.isFinite(x) ? fractionOf(x, p.low, p.high, p.log) : NaN));
        axis.cell = (i) => (p.values[i] === null ? null : new NumberCell(p.values[i], axis.isWhole, p.texts ? p.texts[i] : null));
        return axis;
    }

    text(i) {
        const cell = this.cell(i);
        if (cell === null)
            return "–";
        return typeof cell.value === "number" && !this.isWhole && this.choices === null ? fewDigits(cell.value) : cell.text;
    }

    // The places and texts of the axis' labels, about n.
    ticks(n) {
        if (this.choices === null)
            return niceTicks(this.low, this.high, this.isLog, n)
                .filter((x) => !this.isWhole || Number.isInteger(x))
                .map((x) => ({ place: fractionOf(x, this.low, this.high, this.isLog), text: fewDigits(x) }));
        const last = this.choices.length - 1, stride = Math.ceil((last + 1) / Math.max(2, 2 * n));
        return this.choices.map((c, k) => ({ place: last === 0 ? 0.5 : k / last, text: c.text }))
            .filter((_, k) => k % stride === 0);
    }

    // The number at a place, with no more digits than the precision of a pixel justifies.
    rounded(place) {
        const x = numberAt(place, this.low, this.high, this.isLog);
        if (this.isWhole)
            return Math.round(x);
        if (this.isLog)
            return Number(x.toPrecision(3));
        const step = this.high / 400 - this.low / 400;
        return step > 0 && Number.isFinite(step) && Math.abs(Math.log10(step)) < 15
            ? Number(x.toFixed(Math.max(0, Math.ceil(-Math.log10(step))))) : Number(x.toPrecision(4));
    }

    // The test in the words of --where for the values between two places; "": all values.
    words(from, to) {
        const name = whereQuoteName(this.whereName);
        if (this.choices === null) {
            const tests = [];
            if (from > 0)
                tests.push(`${name} >= ${this.rounded(from)}`);
            if (to < 1)
                tests.push(`${name} <= ${this.rounded(to)}`);
            return tests.join(" and ");
        }
        const last = this.choices.length - 1, epsilon = 1e-9;
        const inside = this.choices.filter((_, k) => k >= from * last - epsilon && k <= to * last + epsilon);
        const values = inside.map((c) => whereQuote(c.text));
        if (inside.length === 1)
            return `${name} = ${values[0]}`;
        return inside.length > last ? "" : `${name} in (${values.join(", ")})`;
    }

    // The brush that a test of --where means: [from, to], or null if the test is not about this axis or
    // does not leave one interval of it.
    interval(test) {
        if (test.name !== this.whereName)
            return null;
        if (this.choices !== null) {
            const last = Math.max(1, this.choices.length - 1);
            const inside = this.choices.map((c, k) => (passesTest(test, c) ? k : NONE)).filter((k) => k >= 0);
            const isGap = inside.length === 0 || inside[inside.length - 1] - inside[0] >= inside.length;
            return isGap || test.op === "~" ? null : [inside[0] / last, inside[inside.length - 1] / last];
        }
        const x = test.literals[0].value;
        if (typeof x !== "number" || !Number.isFinite(x))
            return null;
        const place = Math.min(1, Math.max(0, this.isLog && x <= 0 ? 0 : fractionOf(x, this.low, this.high, this.isLog)));
        return test.op === ">" || test.op === ">=" ? [place, 1] : test.op === "<" || test.op === "<=" ? [0, place]
            : test.op === "=" ? [place, place] : null;
    }
}

// A choice from the data, with value and text.  JSON has numbers, texts, booleans and null as they are;
// other values are objects, as add_choice in page_data.c writes them.
function choiceOf(c) {
    if (c !== null && typeof c === "object")
        return c.number !== undefined
            ? { value: { nan: NaN, inf: Infinity, "-inf": -Infinity }[c.number] ?? Number(c.number), text: c.number }
            : { value: c.other, text: c.text };
    return { value: c, text: c === null ? "null" : String(c) };
}

// ---- the sweep ----

class Sweep {
    constructor(d) {
        this.d = d;
        this.n = d.configs.names.length;
        this.metrics = d.metrics;
        const fields = new Set(["param_name", "n", "left", "reason", ...Object.keys(d.configs.states), ...d.metrics.map((m) => m.name)]);
        this.params = d.params.map((p) => {
            const whereName = fields.has(p.name) ? `params.${p.name}` : p.name;
            return p.kind === "choice" ? Axis.ofChoices(p.name, whereName, p) : Axis.ofNumbers(p.name, whereName, p);
        });
        this.fixed = d.fixed.map((p) => [p.name, choiceOf(p.value)]);
        this.measures = d.measures.map((m, k) => this.measureAxis(d.metrics[k].name, m, d.metrics[k].goal === "min"));
        this.names = this.fieldCells();
        this.curvesByMetric = new Map();
        this.ranks = this.metrics.map(() => null);
        this.jobsByConfig = null;
    }

    // The axis of a measure.  Configurations that are far worse than the others, or nan, lie beyond its end,
    // so that the others have room.
    measureAxis(name, m, isMin) {
        const finite = m.mean.filter((x) => x !== null).sort((x, y) => x - y), n = finite.length;
        const isLog = n > 0 && finite[n - 1] / finite[0] >= 100 && looksLogarithmic(finite);
        const range = { low: n > 0 ? finite[0] : 0, high: n > 0 ? finite[n - 1] : 1 };
        const best = isMin ? range.low : range.high, limit = isLog ? best : worstShown(finite, isMin);
        const isCut = !isLog && limit !== (isMin ? range.high : range.low);
        if (isCut)
            range[isMin ? "high" : "low"] = limit;
        const axis = Axis.ofNumbers(name, name, { ...range, log: isLog, kind: "real", values: m.mean }, true);
        const beyond = isMin ? 1 + BEYOND : -BEYOND;
        axis.places = axis.places.map((place, i) => (m.n[i] === 0 ? NaN : m.mean[i] === null || place < 0 || place > 1 ? beyond : place));
        if (isCut || m.mean.some((x, i) => x === null && m.n[i] > 0))
            axis.beyond = { place: beyond, text: isCut ? `${isMin ? ">" : "<"}${fewDigits(limit, 2)}` : "nan" };
        return axis;
    }

    // The names beside parameters that --where may use for configurations, each with a function that gives
    // a configuration's cell.
    fieldCells() {
        const { configs } = this.d, names = new Map();
        const texts = (list) => (i) => (list[i] === null ? null : { value: list[i], text: list[i] });
        const counts = (list) => (i) => ({ value: list[i], text: String(list[i]) });
        names.set("param_name", texts(configs.names));
        names.set("n", counts(configs.n));
        for (const [state, list] of Object.entries(configs.states))
            names.set(state, counts(list));
        names.set("left", counts(configs.left));
        names.set("reason", texts(configs.reasons));
        this.measures.forEach((axis) => names.set(axis.name, axis.cell));
        return names;
    }

    // Finds the function that gives cells of a name.  As in where.c, a name is a field, "params.NAME", a
    // parameter, or a member of a parameter that is a map; undefined: no such name.
    cells(name) {
        const found = this.names.get(name);
        if (found !== undefined)
            return found;
        return (name.startsWith("params.") && this.paramCells(name.slice(7))) || this.paramCells(name);
    }

    paramCells(path) {
        const fixed = this.fixed.filter(([name]) => path === name || path.startsWith(name + "."));
        const axes = this.params.filter(({ name }) => path === name || path.startsWith(name + "."));
        const all = [...fixed.map(([name, c]) => [name, () => c]), ...axes.map((a) => [a.name, a.cell])];
        if (all.length === 0)
            return undefined;
        const [name, cell] = all.reduce((x, y) => (y[0].length > x[0].length ? y : x));
        return name === path ? cell : (i) => memberOf(cell(i), path.slice(name.length + 1));
    }

    // ranks: 1 for the best configuration, 0 for the worst, NaN without the measure; order: indices of the
    // configurations with the measure, the best first.
    rank(metric) {
        if (this.ranks[metric] === null) {
            const { mean, n } = this.d.measures[metric], sign = this.metrics[metric].goal === "min" ? 1 : -1;
            const has = mean.map((_, i) => i).filter((i) => n[i] > 0);
            const cost = (i) => (mean[i] === null ? Infinity : sign * mean[i]);
            const order = has.sort((x, y) => (cost(x) === cost(y) ? x - y : cost(x) - cost(y)));
            const ranks = new Float64Array(this.n).fill(NaN);
            order.forEach((i, place) => { ranks[i] = order.length > 1 ? 1 - place / (order.length - 1) : 1; });
            this.ranks[metric] = { ranks, order };
        }
        return this.ranks[metric];
    }

    // The indices of a configuration's jobs, ascending.
    jobsOf(config) {
        if (this.jobsByConfig === null) {
            this.jobsByConfig = Array.from({ length: this.n }, () => []);
            this.d.jobs.configs.forEach((c, j) => this.jobsByConfig[c].push(j));
        }
        return config < 0 ? [] : this.jobsByConfig[config];
    }

    // The search's decisions, the newest first: which jobs it stopped early or did not begin, which it
    // resumed, and why.
    decisions() {
        const { d } = this, { jobs } = d, stopped = d.states.indexOf("stopped"), resumed = jobs.resumed || [];
        const found = [];
        jobs.states.forEach((state, j) => {
            if (state === stopped)
                found.push({ job: j, what: jobs.started[j] > 0 ? "stopped" : "not begun", why: jobs.reasons[j] });
            if (resumed[j])
                found.push({ job: j, what: "went on", why: resumed[j] });
        });
        return found.sort((x, y) => (jobs.ended[y.job] || 0) - (jobs.ended[x.job] || 0) || x.job - y.job);
    }

    best(metric) {
        const { order } = this.rank(metric);
        return order.length > 0 && this.d.measures[metric].mean[order[0]] !== null ? order[0] : NONE;
    }

    // The mean and standard deviation over replications at each step, for each configuration with a series.
    curves(metric) {
        if (!this.curvesByMetric.has(metric))
            this.curvesByMetric.set(metric, curvesOf(this.d, metric));
        return this.curvesByMetric.get(metric);
    }
}

function memberOf(cell, path) {
    let map = cell === null ? null : cell.value;
    while (map !== null && typeof map === "object" && !Array.isArray(map)) {
        const names = Object.keys(map).filter((name) => path === name || path.startsWith(name + "."));
        if (names.length === 0)
            return null;
        const name = names.reduce((x, y) => (y.length > x.length ? y : x));
        const value = map[name];
        if (name === path)
            return { value, text: typeof value === "object" && value !== null ? JSON.stringify(value) : String(value) };
        map = value;
        path = path.slice(name.length + 1);
    }
    return null;
}

function curvesOf(d, metric) {
    const series = d.curves.find((c) => c.metric === metric);
    const byConfig = new Map(), stops = new Map(), stopped = d.states.indexOf("stopped");
    if (series === undefined)
        return [];
    let steps = null;
    for (const s of series.jobs) {
        steps = s.steps === undefined ? steps : s.steps;
        const x = steps.every((step) => typeof step === "number") ? steps : steps.map((_, i) => i);
        const config = d.jobs.configs[s.job];
        if (!byConfig.has(config)) {
            byConfig.set(config, new Map());
            stops.set(config, true);
        }
        const at = byConfig.get(config);
        stops.set(config, stops.get(config) && d.jobs.states[s.job] === stopped);
        s.values.forEach((value, i) => {
            if (!at.has(x[i]))
                at.set(x[i], []);
            at.get(x[i]).push(value === null ? NaN : value);
        });
    }
    return [...byConfig].map(([config, at]) => {
        const x = [...at.keys()].sort((p, q) => p - q), mean = [], deviation = [], n = [];
        for (const step of x) {
            const values = at.get(step), m = values.reduce((p, q) => p + q / values.length, 0);
            mean.push(m);
            n.push(values.length);
            deviation.push(values.length < 2 ? 0
                : Math.sqrt(values.reduce((p, q) => p + (q - m) ** 2, 0) / (values.length - 1)));
        }
        return { config, x, mean, deviation, n, isStopped: stops.get(config) };
    });
}
