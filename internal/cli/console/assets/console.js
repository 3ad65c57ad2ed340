// The page of aws-operator console. It lays out what the server sends; all texts become text nodes.

const tokenKey = "token";
const reloadKey = "reloaded";
const watchPath = "/api/watch";
const words = { done: "✓ Ready", working: "◐ In progress", troubled: "! Needs attention", waiting: "○ Pending" };
const urgency = ["troubled", "working", "waiting", "done"];

const main = document.getElementById("main");
const dialog = document.getElementById("dialog");
const rows = new Map(); // by ID
let complete = false; // whether the server has sent all rows
let hidden = []; // kinds that the user may not list
let view = null; // the view that is shown
let connection = null; // aborts the stream of changes
let live = false; // whether the stream has sent something
let shared = false; // whether the console has several users, who sign in at a proxy

// namespace is the one that the user of a shared console chose.
const namespace = new URLSearchParams(location.search).get("namespace") ?? "";

// ---- the server

// takeToken moves the token from the address to the session of this tab.
function takeToken() {
  const found = location.hash.match(/^#token=([A-Za-z0-9]+)$/);
  if (found) {
    sessionStorage.setItem(tokenKey, found[1]);
    history.replaceState(null, "", "#/");
  }
}

// ask sends a request. A proxy answers 401, or leads to another page, if the user must sign in again.
async function ask(path, body, signal) {
  const options = { signal, redirect: "manual", headers: { Accept: "application/json" } };
  const token = sessionStorage.getItem(tokenKey);
  if (token) options.headers.Authorization = `Bearer ${token}`;
  if (body) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  const url = new URL(path, location.origin);
  if (namespace) url.searchParams.set("namespace", namespace);
  const response = await fetch(url, options);
  if (response.ok) return response;
  const status = response.type === "opaqueredirect" ? 401 : response.status;
  const { error } = await response.json().catch(() => ({}));
  // The token may be a new one, which the stream does not have yet; or it is no longer valid, which the stream says.
  if (status === 401 && live) connection.abort();
  throw Object.assign(new Error(error ?? (status === 401 ? "You are no longer signed in." : `The server answered ${status}.`)), { status });
}

// follow reads the stream of changes, and connects again when it ends.
async function follow() {
  for (let wait = 500; ; wait = Math.min(wait * 2, 10_000)) {
    connection = new AbortController();
    try {
      const reader = (await ask(watchPath, undefined, connection.signal)).body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await within(30_000, reader.read());
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        lines.forEach((line) => receive(JSON.parse(line)));
        live = true;
        connected("Live");
        wait = 500;
      }
      throw new Error("The connection ended.");
    } catch (error) {
      live = false;
      connection.abort();
      if (error.status === 401) {
        if (signIn()) return;
        view?.end();
        connected("Not connected", true);
        main.replaceChildren(el("h1", {}, "Not connected"), el("p", { class: "error" }, error.message));
        view = null;
        return;
      }
      connected(error.status || error.ended ? error.message : "Disconnected: is aws-operator console still running?", true);
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}

// signIn loads the page again, so that the proxy of a shared console signs the user in; not again and again.
function signIn() {
  const now = Date.now();
  if (!shared || now - Number(sessionStorage.getItem(reloadKey)) < 60_000) return false;
  sessionStorage.setItem(reloadKey, String(now));
  location.reload();
  return true;
}

// within fails if nothing arrives in time: the server sends something every ten seconds.
function within(milliseconds, promise) {
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error("Nothing arrived.")), milliseconds); });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function connected(text, lost = false) {
  const shown = document.getElementById("connection");
  if (shown.textContent !== text) shown.textContent = text;
  shown.classList.toggle("lost", lost);
}

// share shows where the user of a shared console chooses a namespace: few may list the objects of all.
function share() {
  shared = true;
  const field = document.getElementById("namespace");
  if (!field.hidden) return;
  field.hidden = false;
  field.value = namespace;
  field.addEventListener("change", () => {
    const wanted = field.value.trim();
    location.assign(wanted ? `/?namespace=${encodeURIComponent(wanted)}` : "/");
  });
}

function receive(news) {
  if (news.ended) throw Object.assign(new Error(news.ended), { ended: true });
  if (news.where) document.getElementById("where").textContent = news.where + (news.user ? `, as ${news.user}` : "");
  if (news.user) share();
  if (!news.whole && !news.rows && !news.deleted && !news.hidden) return;
  if (news.whole) {
    rows.clear();
    complete = true;
  }
  hidden = news.hidden ?? [];
  (news.deleted ?? []).forEach((id) => rows.delete(id));
  (news.rows ?? []).forEach((row) => rows.set(row.id, row));
  view?.changed(news);
}

// ---- elements

// el makes an element. Functions among the attributes are event listeners.
function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value !== false && value != null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

function mark(name, text) {
  return el("span", { class: `mark mark-${name}` }, text ?? words[name]);
}

function age(seconds) {
  const passed = Math.max(0, Math.floor(Date.now() / 1000) - seconds);
  if (passed < 120) return `${passed}s`;
  if (passed < 7200) return `${Math.floor(passed / 60)}m`;
  if (passed < 172_800) return `${Math.floor(passed / 3600)}h`;
  if (passed < 63_072_000) return `${Math.floor(passed / 86_400)}d`;
  return `${Math.floor(passed / 31_536_000)}y`;
}

// time shows a time relative to now: "5m ago", or "in 5m".
function time(seconds) {
  const later = seconds - Date.now() / 1000;
  const text = later > 0 ? `in ${age(Date.now() / 1000 - later)}` : `${age(seconds)} ago`;
  const date = new Date(seconds * 1000);
  return el("time", { datetime: date.toISOString(), title: date.toLocaleString() }, text);
}

function cellOf(cell) {
  if (cell.span) return timelineBar(cell);
  if (cell.time) return time(cell.time);
  if (cell.id && rows.has(cell.id)) return el("a", { href: link(cell.id), "data-key": `link ${cell.id}` }, cell.text);
  if (cell.mark) return el("span", { class: `mark-${cell.mark}` }, cell.text);
  return document.createTextNode(cell.text ?? "");
}

// draw makes an element of a drawing.
function draw(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// timelineBar is when something began and ended. The row also says it in words.
function timelineBar({ span: [from, to], mark }) {
  return draw("svg", { class: "bar", viewBox: "0 0 1000 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    draw("rect", { class: "track", width: 1000, height: 10 }),
    draw("rect", { class: `fill-${mark}`, x: from, width: to - from, height: 10 }));
}

// graphOf draws how objects reference each other. The table below the drawing has the links for the keyboard.
function graphOf(graph) {
  const [width, height, gapX, gapY] = [220, 46, 64, 14];
  const columns = graph.nodes.map((node) => node.column);
  const first = Math.min(...columns);
  const counts = {};
  columns.forEach((column) => { counts[column] = (counts[column] ?? 0) + 1; });
  const most = Math.max(...Object.values(counts));
  const place = (node) => [(node.column - first) * (width + gapX) + 2,
    (node.row + (most - counts[node.column]) / 2) * (height + gapY) + 2];
  const short = (text) => (text.length > 27 ? `${text.slice(0, 26)}…` : text);
  const edges = graph.edges.map(([from, to]) => {
    const [fromX, fromY] = place(graph.nodes[from]);
    const [toX, toY] = place(graph.nodes[to]);
    const [x1, y1, x2, y2] = [fromX + width, fromY + height / 2, toX - 6, toY + height / 2];
    const bend = Math.max(30, (x2 - x1) / 2);
    const line = `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
    return draw("path", { class: "edge", "marker-end": "url(#arrow)", d: line });
  });
  const nodes = graph.nodes.map((node) => {
    const [x, y] = place(node);
    const known = rows.has(node.id);
    return draw("g", {
      class: `node ${known ? "known" : ""} ${node.column === 0 ? "own" : ""}`, transform: `translate(${x} ${y})`,
      click: () => { if (known) location.hash = link(node.id); },
    }, draw("title", {}, `${node.kind} ${node.name}`), draw("rect", { width, height, rx: 7 }),
    draw("text", { class: "kind", x: 12, y: 18 }, short(node.kind)), draw("text", { x: 12, y: 36 }, short(node.name)),
    draw("text", { class: `mark-${node.mark ?? "waiting"}`, x: width - 24, y: 29 }, (words[node.mark] ?? "?").split(" ")[0]));
  });
  const [wide, high] = [(Math.max(...columns) - first + 1) * (width + gapX) - gapX + 4, most * (height + gapY) - gapY + 4];
  return draw("svg", { class: "graph", role: "img", "aria-label": graph.label, viewBox: `0 0 ${wide} ${high}`, width: wide, height: high },
    draw("defs", {}, draw("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 4, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
      draw("path", { class: "arrow", d: "M0 0 L8 4 L0 8 z" }))), ...edges, ...nodes);
}

const link = (id) => `#/object/${encodeURIComponent(id)}`;
const title = (row) => `${row.kind} ${row.namespace ? `${row.namespace}/` : ""}${row.name}`;

// ---- the overview

const columns = [
  { key: "mark", title: "Status", order: (a, b) => urgency.indexOf(a.mark) - urgency.indexOf(b.mark) },
  { key: "object", title: "Object", order: (a, b) => a.kind.localeCompare(b.kind) || a.name.localeCompare(b.name) },
  { key: "namespace", title: "Namespace", order: (a, b) => (a.namespace ?? "").localeCompare(b.namespace ?? "") },
  { key: "age", title: "Age", order: (a, b) => b.created - a.created },
  { key: "text", title: "Message", order: (a, b) => a.text.localeCompare(b.text) },
];

const filters = [
  ["", "All", () => true],
  ["troubled", "Needs attention", (row) => row.mark === "troubled"],
  ["working", "In progress", (row) => row.mark === "working"],
  ["waiting", "Pending", (row) => row.mark === "waiting"],
  ["done", "Ready", (row) => row.mark === "done"],
  ["pending", "To approve", (row) => row.pending],
  ["drifted", "Drifted", (row) => row.drifted],
];

// chosen is what the user chose; it outlives the view.
const chosen = { filter: "", kind: "", text: "", column: 0, down: false };

class Overview {
  constructor() {
    main.className = "overview";
    this.buttons = filters.map(([key, name]) => el("button", { type: "button", click: () => this.choose({ filter: key }) }, name));
    this.kinds = el("select", { "aria-label": "Kind", change: () => this.choose({ kind: this.kinds.value }) });
    this.search = el("input", {
      type: "search", placeholder: "Filter by name or message ( / )", "aria-label": "Filter by name or message",
      input: () => this.choose({ text: this.search.value }),
    });
    this.search.value = chosen.text;
    this.count = el("span", { class: "note", role: "status" });
    this.note = el("p", { class: "note" });
    this.heads = columns.map((column, i) => el("th", { scope: "col", class: `c-${column.key}` },
      el("button", { type: "button", click: () => this.choose({ column: i, down: chosen.column === i && !chosen.down }) }, column.title)));
    this.above = el("tr", { class: "space", "aria-hidden": "true" }, el("td", { colspan: columns.length }));
    this.below = this.above.cloneNode(true);
    this.body = el("tbody", { keydown: (event) => this.move(event) });
    this.table = el("table", { "aria-label": "Objects" }, el("thead", {}, el("tr", { "aria-rowindex": 1 }, ...this.heads)), this.body);
    this.grid = el("div", { class: "grid", tabindex: "0", role: "region", "aria-label": "Objects", scroll: () => this.draw() }, this.table);
    main.replaceChildren(
      el("h1", {}, "Objects"), el("div", { class: "tools", role: "group", "aria-label": "Filters" }, ...this.buttons),
      el("div", { class: "tools" }, this.search, this.kinds, this.count), this.note, this.grid,
    );
    document.title = "aws-operator";
    this.height = 0; // of a row
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.grid);
    this.ticker = setInterval(() => this.draw(), 10_000); // ages
    this.changed();
  }

  end() {
    this.resized.disconnect();
    clearInterval(this.ticker);
  }

  choose(choice) {
    Object.assign(chosen, choice);
    this.grid.scrollTop = 0;
    this.changed();
  }

  changed() {
    const all = [...rows.values()];
    const kinds = [...new Set(all.map((row) => row.kind))].sort();
    if (kinds.join() !== this.listed) {
      this.listed = kinds.join();
      this.kinds.replaceChildren(el("option", { value: "" }, "All kinds"), ...kinds.map((kind) => el("option", { value: kind }, kind)));
      this.kinds.value = kinds.includes(chosen.kind) ? chosen.kind : "";
    }
    filters.forEach(([key, name, has], i) => {
      this.buttons[i].textContent = `${name} ${all.filter(has).length}`;
      this.buttons[i].setAttribute("aria-pressed", String(chosen.filter === key));
    });
    const has = filters.find(([key]) => key === chosen.filter)[2];
    const text = chosen.text.toLowerCase();
    const ordered = columns[chosen.column].order;
    this.shown = all.filter((row) => has(row) && (!chosen.kind || row.kind === chosen.kind) &&
      (!text || `${title(row)} ${row.reason ?? ""} ${row.text}`.toLowerCase().includes(text)));
    this.shown.sort((a, b) => (chosen.down ? -1 : 1) * ordered(a, b) || title(a).localeCompare(title(b)));
    this.heads.forEach((head, i) => {
      if (i === chosen.column) head.setAttribute("aria-sort", chosen.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    const count = complete ? `${this.shown.length} of ${all.length}` : "Reading the management cluster…";
    if (this.count.textContent !== count) this.count.textContent = count;
    const notes = [];
    const choose = hidden.length > 0 && shared && !namespace;
    if (choose) notes.push("Enter a namespace above if you may not list the objects of all.");
    if (complete && all.length === 0 && !choose) notes.push("There are no objects of the operator here yet.");
    if (hidden.length > 0) notes.push(`Not shown, because you lack the permission to list them: ${hidden.join(", ")}.`);
    this.note.textContent = notes.join(" ");
    this.note.hidden = notes.length === 0;
    this.table.setAttribute("aria-rowcount", String(this.shown.length + 1));
    this.draw();
  }

  // draw makes the rows that are visible, and a few more. Blank rows take the place of the others.
  draw() {
    const focused = this.body.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const more = 10;
    const height = this.height || 36;
    const first = Math.max(0, Math.floor(this.grid.scrollTop / height) - more);
    const last = Math.min(this.shown.length, Math.ceil((this.grid.scrollTop + this.grid.clientHeight) / height) + more);
    this.above.firstChild.style.height = `${first * height}px`;
    this.below.firstChild.style.height = `${Math.max(0, this.shown.length - last) * height}px`;
    this.body.replaceChildren(this.above, ...this.shown.slice(first, last).map((row, i) => this.line(row, first + i)), this.below);
    if (focused) this.body.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    const drawn = this.body.children.length > 2 ? this.body.children[1].offsetHeight : 0;
    if (drawn && !this.height) {
      this.height = drawn;
      if (drawn !== height) this.draw();
    }
  }

  line(row, index) {
    return el("tr", { "aria-rowindex": index + 2 },
      el("td", { class: "c-mark" }, mark(row.mark)),
      el("td", { class: "c-object", title: title(row) }, `${row.kind} `, el("a", { href: link(row.id), "data-key": row.id }, row.name),
        row.pending && el("span", { class: "badge" }, "to approve"), row.drifted && el("span", { class: "badge" }, "drifted")),
      el("td", { class: "c-namespace" }, row.namespace ?? ""), el("td", { class: "c-age" }, age(row.created)),
      el("td", { class: "c-text", title: row.text }, row.text));
  }

  // move moves the focus between the rows by the arrow keys.
  move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const key = document.activeElement?.dataset?.key;
    if (!step || !key) return;
    const next = this.shown[this.shown.findIndex((row) => row.id === key) + step];
    if (!next) return;
    event.preventDefault();
    const wanted = () => this.body.querySelector(`[data-key="${CSS.escape(next.id)}"]`);
    if (!wanted()) {
      this.grid.scrollTop += step * this.height * 5;
      this.draw();
    }
    wanted()?.focus({ preventScroll: true });
    wanted()?.closest("tr").scrollIntoView({ block: "nearest" });
  }
}

// ---- one object

class ObjectPage {
  constructor(id) {
    this.id = id;
    main.className = "";
    main.replaceChildren(el("p", {}, "Reading…"));
    this.ticker = setInterval(() => this.read(), 5_000); // Events are not in the stream
    this.awsTicker = setInterval(() => this.readAWS(), 15_000);
    this.read();
  }

  end() {
    this.ended = true;
    clearInterval(this.ticker);
    clearInterval(this.awsTicker);
    clearTimeout(this.soon);
  }

  // readAWS reads what AWS has of the object, if the console may.
  async readAWS() {
    if (!this.page?.aws || this.readingAWS) return;
    this.readingAWS = true;
    let sections;
    try {
      sections = await (await ask(`/api/aws?id=${encodeURIComponent(this.id)}`)).json();
    } catch (error) {
      sections = [{ title: "AWS", text: `AWS is not shown: ${error.message}` }];
    }
    this.readingAWS = false;
    if (this.ended || JSON.stringify(sections) === JSON.stringify(this.aws)) return;
    this.aws = sections;
    this.draw(this.page);
  }

  // changed reads the object again if it changed, or one that the page shows: a cluster's page shows its groups.
  changed(news) {
    const ids = [...(news.rows ?? []).map((row) => row.id), ...(news.deleted ?? [])];
    const drawn = new Set((this.page?.sections ?? []).flatMap((section) => (section.graph?.nodes ?? []).map((node) => node.id)));
    const shows = (id) => id === this.id || drawn.has(id) || (this.id.startsWith("Cluster.") && id.startsWith("InstanceGroup."));
    if (!news.whole && !ids.some(shows)) return;
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.read(), 100);
  }

  async read() {
    let text;
    try {
      text = await (await ask(`/api/object?id=${encodeURIComponent(this.id)}`)).text();
    } catch (error) {
      if (this.ended || !complete || (error.status !== 404 && this.text)) return; // the stream reports a lost connection
      this.text = null;
      main.replaceChildren(el("p", {}, el("a", { href: "#/" }, "All objects")), el("p", { class: "error" }, error.message));
      return;
    }
    if (this.ended) return;
    if (text !== this.text) {
      this.text = text;
      this.page = JSON.parse(text);
      this.draw(this.page);
      if (!this.aws) this.readAWS();
      return;
    }
    main.querySelectorAll("time").forEach((shown) => shown.replaceWith(time(Date.parse(shown.dateTime) / 1000)));
  }

  // draw replaces the page, and keeps the focus, the position and what is unfolded.
  draw(page) {
    const key = document.activeElement?.dataset?.key;
    const position = main.scrollTop;
    const open = new Set([...main.querySelectorAll("details[open]")].map((section) => section.dataset.key));
    const row = page.row;
    document.title = `${title(row)} – aws-operator`;
    main.replaceChildren(...[
      el("p", {}, el("a", { href: "#/", "data-key": "all" }, "All objects")),
      el("h1", {}, title(row)),
      el("p", {}, mark(row.mark), row.reason && row.reason !== "Ready" ? ` ${row.reason}` : "", row.drifted && el("span", { class: "badge" }, "drifted")),
      el("div", { class: `waits ${row.mark}` }, page.text),
      page.causes?.length > 0 && this.causes(page.causes),
      page.stalled && el("p", {}, this.button("Retry now", () => this.order("/api/retry", {}))),
      ...(page.changes ?? []).map((change) => this.change(change)),
      el("dl", { class: "facts" }, ...(page.facts ?? []).flatMap((fact) => [el("dt", {}, fact.name), el("dd", {}, cellOf(fact.value))])),
      ...this.sections(page).map((section) => this.section(section, open)),
    ].filter(Boolean));
    main.scrollTop = position;
    if (key) main.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  }

  // causes shows the objects for which the object waits in the end.
  causes(causes) {
    return el("section", { class: "causes" }, el("h2", {}, "In the end, it waits for"), el("ul", {}, ...causes.map((cause) => el("li", {},
      el("a", { href: link(cause.id), "data-key": `cause ${cause.id}` }, cause.name), ": ",
      el("span", { class: `mark-${cause.mark}` }, cause.text)))));
  }

  // sections are those of the page, with those of AWS before what all objects have.
  sections(page) {
    const all = page.sections ?? [];
    const aws = this.aws ?? (page.aws ? [{ title: "Last operation on the stacks", text: "Reading AWS…" }] : []);
    const general = all.findIndex((section) => ["References", "Conditions"].includes(section.title));
    return all.toSpliced(general < 0 ? all.length : general, 0, ...aws.filter((one) => one.text || one.rows));
  }

  section(section, open) {
    const name = section.title;
    const content = [
      section.text && el("p", {}, section.text),
      section.bar && el("p", {}, el("progress", { max: section.bar.total, value: section.bar.done, "aria-label": section.bar.label }), ` ${section.bar.label}`),
      section.graph && el("div", {
        class: "drawing", tabindex: "0", role: "region", "aria-label": `Drawing of ${name}`, "data-key": `graph ${name}`,
      }, graphOf(section.graph)),
      section.rows?.length > 0 && el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": name, "data-key": `table ${name}` },
        el("table", {}, el("thead", {}, el("tr", {}, ...section.columns.map((column) => el("th", { scope: "col" }, column)))),
          el("tbody", {}, ...section.rows.map((cells) => el("tr", {}, ...cells.map((cell) => el("td", {}, cellOf(cell)))))))),
      section.code && el("pre", { tabindex: "0", "data-key": `code ${name}`, "aria-label": name, role: "region" }, section.code),
    ];
    if (!section.folded) return el("section", {}, el("h2", {}, name), ...content);
    return el("details", { "data-key": name, open: open.has(name) }, el("summary", { "data-key": `fold ${name}` }, name), ...content);
  }

  // change shows a change that waits for approval.
  change(change) {
    const resources = (change.changes ?? []).map((one) => el("li", {},
      `${one.action ?? "Modify"} ${one.resource}${one.type ? ` (${one.type})` : ""}`,
      one.properties?.length ? `: ${one.properties.join(", ")}` : "",
      one.replacement === "True" && el("strong", {}, " replaces the resource"),
      one.replacement === "Conditional" && el("strong", {}, " may replace the resource"),
      one.warning && el("div", { class: "warning" }, one.warning)));
    const content = () => [el("p", {}, change.summary), resources.length > 0 && el("ul", {}, ...resources.map((item) => item.cloneNode(true)))];
    return el("section", { class: "change", "aria-label": `Change of stack ${change.stack}` },
      el("h2", {}, `Waits for approval: stack ${change.stack}`), ...content(),
      this.button("Approve…", () => this.confirm(change, content()), `approve ${change.digest}`));
  }

  button(text, click, key = text) {
    return el("button", { type: "button", class: "main", "data-key": key, click }, text);
  }

  // confirm asks before a change is approved. The digest names exactly what the user sees.
  confirm(change, content) {
    const problem = el("p", { class: "error", role: "alert" });
    const approve = async () => {
      try {
        await ask("/api/approve", { id: this.id, digests: [change.digest] });
        dialog.close();
        await this.read();
      } catch (error) {
        problem.textContent = error.message;
      }
    };
    dialog.replaceChildren(
      el("h2", { id: "dialog-title" }, `Approve the change of stack ${change.stack}?`), ...content.filter(Boolean), problem,
      el("div", { class: "tools" }, el("button", { type: "button", click: () => dialog.close() }, "Cancel"),
        el("button", { type: "button", class: "main", click: approve }, "Approve this change")));
    dialog.showModal();
  }

  async order(path, body) {
    try {
      await ask(path, { id: this.id, ...body });
      await this.read();
    } catch (error) {
      dialog.replaceChildren(el("h2", { id: "dialog-title" }, "It did not work"), el("p", { class: "error" }, error.message),
        el("div", { class: "tools" }, el("button", { type: "button", click: () => dialog.close() }, "Close")));
      dialog.showModal();
    }
  }
}

// ---- the address

function route(moved) {
  if (location.hash !== "" && !location.hash.startsWith("#/")) {
    const had = location.hash.startsWith("#token=");
    takeToken();
    if (had) location.reload(); // a new token in an open tab
    return;
  }
  view?.end();
  if (dialog.open) dialog.close();
  const found = location.hash.match(/^#\/object\/(.+)$/);
  view = found ? new ObjectPage(decodeURIComponent(found[1])) : new Overview();
  if (moved) main.focus();
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || /INPUT|SELECT|TEXTAREA/.test(event.target.tagName) || !view?.search) return;
  event.preventDefault();
  view.search.focus();
});

takeToken();
window.addEventListener("hashchange", () => route(true));
route(false);
follow();
