// where.js - parses expressions of --where, and tests rows, as client/term/where.c does
//
// whereParse(text) returns a tree, or throws an Error that says what was expected at which column.
// Each node has its place in the text, so that a brush can replace a test and keep the rest.

const WHERE_OPS = ["==", "!=", "<=", ">=", "=", "<", ">", "~"];
const WHERE_DEPTH_MAX = 50;
const WHERE_BYTES_MAX = 16 * 1024;
const WHERE_NAMES_MAX = 200;

// Reads an unquoted word as YAML 1.2 does: as a number, true, false, null or a text.
function readScalar(text) {
    const word = (value) => ({ value, text });
    const digits = text.replace(/^[-+]/, "");
    if (text.toLowerCase() === "null")
        return word(/^(null|Null|NULL)$/.test(text) ? null : text);
    if (/^(true|True|TRUE)$/.test(text))
        return { value: true, text: "true" };
    if (/^(false|False|FALSE)$/.test(text))
        return { value: false, text: "false" };
    if (/^(0o[0-7]+|0x[0-9a-fA-F]+)$/.test(text))
        return word(Number(text));
    if (/^([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$/.test(digits))
        return word(Number.isFinite(Number(text)) ? Number(text) : text);
    if (/^\.(inf|Inf|INF)$/.test(digits))
        return word(text[0] === "-" ? -Infinity : Infinity);
    if (/^\.(nan|NaN|NAN)$/.test(text))
        return word(NaN);
    return word(text);
}

function whereParse(text) {
    let now = { type: "begin", at: 0, n: 0 };
    let depth = 0;
    const names = new Set();

    function fail(at, what) {
        throw new Error(`column ${[...text.slice(0, at)].length + 1}: ${what}`);
    }
    function failExpected(what) {
        if (now.type === "end")
            fail(now.at, `expected ${what}, found the end`);
        const found = text.slice(now.at, now.at + now.n);
        fail(now.at, `expected ${what}, found ${now.type === "quoted" ? found : `'${found}'`}`);
    }
    function quoted(at) {
        let word = "", end = at + 1;
        for (; end < text.length && text[end] !== text[at]; end++) {
            if (text[end] === "\\" && "\\'\"".includes(text[end + 1] || "x"))
                end++;
            word += text[end];
        }
        if (end >= text.length)
            fail(at, "this quote is never closed");
        return { type: "quoted", at, n: end + 1 - at, word };
    }
    function advance() {
        let at = now.at + now.n;
        while (at < text.length && " \t\r\n".includes(text[at]))
            at++;
        const op = WHERE_OPS.find((o) => text.startsWith(o, at));
        if (at === text.length)
            now = { type: "end", at, n: 0 };
        else if ("(),".includes(text[at]))
            now = { type: text[at], at, n: 1 };
        else if (text[at] === "'" || text[at] === '"')
            now = quoted(at);
        else if (op)
            now = { type: "op", at, n: op.length, op: op === "==" ? "=" : op };
        else {
            const word = /^[^ \t\r\n=!<>~(),'"]*/.exec(text.slice(at))[0];
            if (word === "")
                fail(at, "'!' stands only in '!=' (write not)");
            const keyword = word.toLowerCase();
            now = { type: ["not", "and", "or", "in"].includes(keyword) ? keyword : "word", at, n: word.length, word };
        }
    }
    function accept(type) {
        if (now.type !== type)
            return false;
        advance();
        return true;
    }
    function literal(op) {
        if (now.type !== "word" && now.type !== "quoted")
            failExpected("a value");
        const read = now.type === "quoted" ? { value: now.word, text: now.word } : readScalar(now.word);
        if (read.value === null && "~<=>=".includes(op) && op !== "=")
            fail(now.at, `only = and != compare with ${now.word}`);
        advance();
        return read;
    }
    function test() {
        const begin = now.at;
        if ((now.type !== "word" && now.type !== "quoted") ||
            (now.type === "word" && typeof readScalar(now.word).value !== "string"))
            failExpected("a name");
        if (names.size === WHERE_NAMES_MAX && !names.has(now.word))
            fail(now.at, `at most ${WHERE_NAMES_MAX} different names`);
        names.add(now.word);
        const node = { type: "test", name: now.word, literals: [], begin };
        advance();
        if (now.type === "op") {
            node.op = now.op;
            advance();
            node.end = now.at + now.n;
            node.literals.push(literal(node.op));
            return node;
        }
        if (now.type !== "in" && now.type !== "not")
            failExpected("one of = != < <= > >= ~ in");
        node.op = accept("not") ? "not in" : "in";
        if (!accept("in"))
            failExpected("'in'");
        if (!accept("("))
            failExpected("'('");
        do
            node.literals.push(literal(node.op));
        while (accept(","));
        node.end = now.at + now.n;
        if (!accept(")"))
            failExpected("',' or ')'");
        return node;
    }
    function negated() {
        const begin = now.at;
        let isNegated = false;
        while (accept("not"))
            isNegated = !isNegated;
        let node;
        if (now.type !== "(") {
            node = test();
        } else {
            if (depth === WHERE_DEPTH_MAX)
                fail(now.at, `more than ${WHERE_DEPTH_MAX} parentheses within each other`);
            depth++;
            advance();
            node = { type: "group", parts: [chain("or", () => chain("and", negated))], begin };
            depth--;
            node.end = now.at + now.n;
            if (!accept(")"))
                failExpected("'and', 'or' or ')'");
        }
        return isNegated ? { type: "not", parts: [node], begin, end: node.end } : node;
    }
    function chain(type, part) {
        const parts = [part()];
        while (accept(type))
            parts.push(part());
        return parts.length === 1 ? parts[0]
            : { type, parts, begin: parts[0].begin, end: parts[parts.length - 1].end };
    }

    if (new TextEncoder().encode(text).length > WHERE_BYTES_MAX)
        throw new Error(`longer than ${WHERE_BYTES_MAX} bytes`);
    advance();
    const root = chain("or", () => chain("and", negated));
    if (now.type !== "end")
        failExpected("'and', 'or' or the end");
    return root;
}

// Compares texts by code points, which is the order of C's memcmp for UTF-8.
function compareTexts(x, y) {
    const a = [...x], b = [...y];
    for (let i = 0; i < a.length && i < b.length; i++)
        if (a[i] !== b[i])
            return a[i].codePointAt(0) - b[i].codePointAt(0);
    return a.length - b.length;
}

// Compares a cell with a literal: -1, 0 or 1; NaN if one of two numbers is nan.
function compareCell(cell, literal) {
    if (typeof cell.value !== "number" || typeof literal.value !== "number")
        return Math.sign(compareTexts(cell.text, literal.text));
    if (Number.isNaN(cell.value) && Number.isNaN(literal.value))
        return 0;
    return cell.value < literal.value ? -1 : cell.value > literal.value ? 1
        : cell.value === literal.value ? 0 : NaN;
}

function passesTest(test, cell) {
    const isNull = cell === null || cell.value === null;
    const isEqual = () => test.literals.some((l) =>
        isNull || l.value === null ? isNull && l.value === null : compareCell(cell, l) === 0);
    if (test.op === "=" || test.op === "in")
        return isEqual();
    if (isNull)
        return false;
    if (test.op === "!=" || test.op === "not in")
        return !isEqual();
    if (test.op === "~")
        return cell.text.includes(test.literals[0].text);
    const order = compareCell(cell, test.literals[0]);
    return test.op === "<" ? order < 0 : test.op === "<=" ? order <= 0
        : test.op === ">" ? order > 0 : order >= 0;
}

// Returns a function that tells whether a row matches.  cells(name) returns a function that gives a row's
// cell for that name, {value, text} or null; or undefined, if no row has that name.
function whereCompile(root, cells) {
    if (root.type === "test") {
        const cell = cells(root.name);
        if (cell === undefined)
            throw new Error(`no configuration has '${root.name}'`);
        return (row) => passesTest(root, cell(row));
    }
    const parts = root.parts.map((p) => whereCompile(p, cells));
    if (root.type === "not")
        return (row) => !parts[0](row);
    return root.type === "or" ? (row) => parts.some((p) => p(row)) : (row) => parts.every((p) => p(row));
}

// Quotes a text for --where if needed.
function whereQuote(word) {
    const isPlain = word !== "" && !/[ \t\r\n=!<>~(),'"\\]/.test(word) && !/^(not|and|or|in|null)$/i.test(word);
    return isPlain ? word : `"${word.replace(/["\\]/g, "\\$&")}"`;
}

function whereQuoteName(name) {
    return typeof readScalar(name).value === "string" ? whereQuote(name) : `"${name}"`;
}
