// Drives the page of aws-operator console. The argument is the address that the command printed.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const address = process.argv[2];
const site = address.split("#")[0];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const page = (kind, name) => `${site}#/object/${encodeURIComponent(`${kind}/default/${name}`)}`;

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
const problems = [];

async function open(scheme) {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width: 1280, height: 800 } });
  const tab = await context.newPage();
  tab.on("console", (message) => { if (["error", "warning"].includes(message.type())) problems.push(message.text()); });
  tab.on("pageerror", (error) => problems.push(error.message));
  tab.on("dialog", (dialog) => { problems.push(`a script ran: ${dialog.message()}`); dialog.dismiss(); });
  const began = Date.now();
  await tab.goto(address);
  await tab.waitForSelector("td.c-mark");
  console.log(`${scheme}: the first rows are there after ${Date.now() - began} ms`);
  assert.equal(new URL(tab.url()).hash, "#/", "the token stays in the address");
  return tab;
}

// check takes a screenshot, and checks the page with axe. The debugger runs axe: the page's policy allows no
// scripts of others.
async function check(tab, name) {
  await tab.screenshot({ path: `${name}.png` });
  const debug = await tab.context().newCDPSession(tab);
  await debug.send("Runtime.evaluate", { expression: axe });
  const { result } = await debug.send("Runtime.evaluate", {
    expression: "axe.run().then((found) => JSON.stringify(found.violations.map((v) => [v.id, v.nodes[0].html, v.nodes[0].failureSummary])))",
    awaitPromise: true, returnByValue: true,
  });
  assert.equal(result.value, "[]", `axe on ${name}`);
}

for (const scheme of ["light", "dark"]) {
  const tab = await open(scheme);
  await check(tab, `overview-${scheme}`);
  for (const [kind, name] of [
    ["Cluster.cluster-operator.aws", "demo"], ["InstanceGroup.cluster-operator.aws", "demo-workers"],
    ["SQSQueue.service-operator.aws", "billing"], ["SQSQueue.service-operator.aws", "refused"],
    ["SNSTopic.service-operator.aws", "script"],
  ]) {
    await tab.goto(page(kind, name));
    await tab.waitForSelector(".waits");
    await check(tab, `${name}-${scheme}`);
  }
  const script = await tab.textContent("main");
  assert.match(script, /<img src=x onerror=alert\(1\)>/, "the page shows the text of an object as text");
  await tab.context().close();
}

const tab = await open("light");

// The keyboard: / moves to the filter, and the arrow keys move between objects.
await tab.keyboard.press("/");
await tab.keyboard.type("demo");
await tab.waitForFunction(() => document.querySelectorAll("td.c-mark").length === 2);
await tab.focus("td.c-object a:text-is('demo')");
await tab.keyboard.press("ArrowDown");
assert.equal(await tab.evaluate(() => document.activeElement.textContent), "demo-workers");
await tab.keyboard.press("Enter");
await tab.waitForSelector("h1:text-is('InstanceGroup default/demo-workers')");

// An approval.
await tab.goto(`${site}#/`);
await tab.fill("input[type=search]", "");
await tab.click("button:has-text('To approve')");
await tab.click("td.c-object a:text-is('manual')");
await tab.click("button:has-text('Approve…')");
await tab.waitForSelector("dialog[open]");
await check(tab, "approve");
await tab.click("dialog button:has-text('Approve this change')");
await tab.waitForSelector(".change", { state: "detached" });
await tab.waitForSelector(".mark-done");
console.log("an approved change was applied, and the page followed");

// A rolling update.
await tab.goto(page("InstanceGroup.cluster-operator.aws", "demo-workers"));
await tab.waitForSelector(".waits");
execFileSync("kubectl", ["patch", "instancegroup", "demo-workers", "--type", "merge", "-p", '{"spec":{"labels":{"team":"console"}}}']);
await tab.waitForSelector("progress", { timeout: 60_000 });
await check(tab, "roll");
await tab.waitForSelector("progress", { state: "detached", timeout: 120_000 });
console.log("a rolling update was shown until its end");

// Without the token, the page has no data.
const other = await (await browser.newContext()).newPage();
await other.goto(site);
await other.waitForSelector("h1:text-is('Not connected')");
assert.equal(await other.locator("td").count(), 0);

await browser.close();
assert.deepEqual(problems, []);
