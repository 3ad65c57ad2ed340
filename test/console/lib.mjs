// What the scripts that drive the page of aws-operator console share.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

// The first argument is the address that the command printed.
export const address = process.argv[2];
export const site = address.split("#")[0];
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const page = (kind, name, namespace = "default") => `${site}#/object/${encodeURIComponent(`${kind}/${namespace}/${name}`)}`;

export const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--host-resolver-rules=MAP console.example.com 127.0.0.1"] });
export const problems = []; // what the page printed, and what it should not have done

export async function open(scheme) {
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
export async function check(tab, name) {
  await tab.screenshot({ path: `${name}.png` });
  const debug = await tab.context().newCDPSession(tab);
  await debug.send("Runtime.evaluate", { expression: axe });
  const { result } = await debug.send("Runtime.evaluate", {
    expression: "axe.run().then((found) => JSON.stringify(found.violations.map((v) => [v.id, v.nodes[0].html, v.nodes[0].failureSummary])))",
    awaitPromise: true, returnByValue: true,
  });
  assert.equal(result.value, "[]", `axe on ${name}`);
}
