// Reads the site of the documentation. The arguments are its folder and the version to read.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join, normalize } from "node:path";
import { chromium } from "playwright-core";

const [folder, version] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const types = {
  ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".json": "application/json", ".svg": "image/svg+xml", ".png": "image/png",
};

// An earlier version has the same pages, except for those with tutorials.
const EARLIER = "v0.0.1";
const server = createServer((request, response) => {
  const path = normalize(new URL(request.url, "http://localhost").pathname);
  try {
    if (path.startsWith(`/${EARLIER}/tutorials`)) throw new Error("the earlier version has no tutorials");
    const content = path === "/versions.json"
      ? JSON.stringify([version, EARLIER])
      : readFileSync(join(folder, path.replace(EARLIER, version)));
    response.writeHead(200, { "content-type": types[extname(path)] }).end(content);
  } catch {
    response.writeHead(404).end();
  }
}).listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const site = `http://127.0.0.1:${server.address().port}/${version}/`;

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const problems = [];

async function open(options) {
  const context = await browser.newContext(options);
  const tab = await context.newPage();
  tab.on("console", (message) => { if (["error", "warning"].includes(message.type())) problems.push(message.text()); });
  tab.on("pageerror", (error) => problems.push(error.message));
  tab.on("request", (request) => {
    if (!request.url().startsWith(new URL("/", site).href)) problems.push(`${tab.url()} requests ${request.url()}`);
  });
  return tab;
}

// check checks the page with axe.
async function check(tab, name) {
  await tab.evaluate(axe);
  const found = await tab.evaluate(
    "axe.run().then((found) => found.violations.map((v) => [v.id, v.nodes[0].html, v.nodes[0].failureSummary]))",
  );
  assert.deepEqual(found, [], `axe on ${name}`);
}

// Screenshots show these pages in each size, to be read by a developer. The others are checked in one.
const pages = {
  start: "index.html", tutorial: "tutorials/first-table.html", troubleshooting: "guide/troubleshooting.html", kinds: "reference/kinds.html",
  design: "design/index.html", section: "reference/index.html",
};
const sizes = { light: { colorScheme: "light", viewport: { width: 1440, height: 900 } }, dark: { colorScheme: "dark", viewport: { width: 1440, height: 900 } },
  phone: { colorScheme: "light", viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true } };
for (const [size, options] of Object.entries(sizes)) {
  const tab = await open(options);
  for (const [name, path] of Object.entries(pages)) {
    await tab.goto(site + path);
    const wide = await tab.evaluate("document.documentElement.scrollWidth > innerWidth");
    assert.equal(wide, false, `${name} is wider than the screen in ${size}`);
    await tab.screenshot({ path: `${name}-${size}.png` });
    await check(tab, `${name}-${size}`);
  }
  await tab.context().close();
}

const tab = await open(sizes.light);
const all = new Set(JSON.parse(readFileSync(join(folder, version, "search.json"))).map((entry) => entry.url.split("#")[0]));
for (const path of all) {
  if (Object.values(pages).includes(path)) continue;
  await tab.goto(site + path);
  await check(tab, path);
}

// The menu stays on the screen.
await tab.goto(site + "guide/troubleshooting.html");
await tab.evaluate("scrollTo(0, document.body.scrollHeight)");
const box = await tab.locator("#menu nav").boundingBox();
assert.ok(box.y >= 0 && box.y < 100, `the menu is at ${box.y} after scrolling`);

// The search works with the keyboard only.
await tab.goto(site + "guide/kops.html");
await tab.keyboard.press("/");
await tab.keyboard.type("RefusedByPolicy");
await tab.waitForSelector("#results a");
await tab.screenshot({ path: "search-light.png" });
await check(tab, "search-light");
await tab.keyboard.press("ArrowDown");
await tab.keyboard.press("Enter");
await tab.waitForURL(/guide\/troubleshooting\.html#/);
assert.match(await tab.textContent("main"), /RefusedByPolicy/);
await tab.keyboard.press("/");
await tab.keyboard.type("no such word anywhere");
await tab.waitForFunction("document.getElementById('count').textContent === '0 results'");
await tab.keyboard.press("Escape");
assert.equal(await tab.isVisible("#panel"), false, "Escape closes the results");

// The menu of versions leads to the same page of another version, or to its start.
assert.equal(await tab.inputValue("#versions"), version);
await tab.selectOption("#versions", EARLIER);
await tab.waitForURL((url) => url.pathname === `/${EARLIER}/guide/troubleshooting.html`);
await tab.goto(site + "tutorials/first-table.html");
const count = problems.length;
await tab.waitForFunction("document.getElementById('versions').options.length === 2");
await tab.selectOption("#versions", EARLIER);
await tab.waitForURL(`**/${EARLIER}/index.html`);
assert.match(problems.splice(count).join(), /404/, "the page of the other version does not exist");

// Every page can be read without scripts.
const plain = await open({ javaScriptEnabled: false });
await plain.goto(site + "guide/kops.html");
assert.equal(await plain.isVisible("nav >> text=Troubleshooting"), true);

assert.deepEqual(problems, []);
await browser.close();
server.close();
console.log("the pages are read; the screenshots are in .cache/site");
