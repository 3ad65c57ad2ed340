// Watches the roll of a cluster on one page of aws-operator console. The argument is the address that the command
// printed.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { browser, check, open, page, problems } from "./lib.mjs";

const slots = 3;
const workers = 10;
const began = Date.now();
const say = (text) => console.log(`${((Date.now() - began) / 1000).toFixed(0).padStart(4)} s  ${text}`);
const minutes = (n) => ({ timeout: n * 60_000 });
const kubectl = (...args) => execFileSync("kubectl", args, { encoding: "utf8" });

const tab = await open("light");
await tab.setViewportSize({ width: 1280, height: 900 });
await tab.goto(page("Cluster.cluster-operator.aws", "shop"));
await tab.waitForSelector(".waits.done");

// A page that is loaded again forgets this. The page notes each state of the bars that it shows, and how many nodes
// are being drained.
await tab.evaluate(() => {
  window.sameDocument = true;
  window.shown = {};
  const note = (title, value) => {
    const seen = (window.shown[title] ??= []);
    if (seen.at(-1) !== value) seen.push(value);
  };
  new MutationObserver(() => document.querySelectorAll("section").forEach((section) => {
    const title = section.querySelector("h2").textContent;
    if (!title.startsWith("Rollout of ")) return;
    const bar = section.querySelector("progress");
    if (bar) note(title, bar.value);
    note(`drains in ${title}`, section.querySelectorAll("tbody tr").length);
  })).observe(document.querySelector("main"), { childList: true, subtree: true });
});
const section = (title) => `section:has(> h2:text-is('${title}'))`;

kubectl("patch", "cluster", "shop", "--type", "merge", "-p", '{"spec":{"controlPlane":{"roll":"console"}}}');
await tab.waitForSelector(`${section("Rollout of the control plane")} progress`, minutes(2));
say("the control plane is being replaced");
await check(tab, "control-plane");
await tab.waitForFunction(() => !document.querySelector("progress") && document.querySelector(".waits.done"), null, minutes(4));
say(`the ${slots} slots are replaced`);

kubectl("patch", "instancegroup", "shop-workers", "--type", "merge", "-p", '{"spec":{"roll":"console"}}');
const rollout = section("Rollout of shop-workers");
await tab.waitForSelector(`${rollout} progress`, minutes(2));
say("the workers are being replaced");
await tab.waitForSelector(`${rollout} td:has-text('PodDisruptionBudget default/front')`, minutes(2));
say("a drain is blocked by a PodDisruptionBudget");
await tab.locator(rollout).scrollIntoViewIfNeeded();
await check(tab, "blocked");

kubectl("--kubeconfig", "shop.kubeconfig", "patch", "pdb", "front", "--type", "merge", "-p", '{"spec":{"maxUnavailable":1}}');
say("the budget allows one pod at a time");
await tab.waitForFunction(
  ([title, half]) => (window.shown[`drains in ${title}`] ?? []).at(-1) <= half, ["Rollout of shop-workers", workers / 2], minutes(8),
);
say("half of the nodes are drained");
await check(tab, "middle");
await tab.waitForSelector(rollout, { state: "detached", ...minutes(8) });
await tab.waitForSelector(".waits.done");
say(`the ${workers} workers are replaced and drained`);
await check(tab, "done");

const { sameDocument, shown } = await tab.evaluate(() => ({ sameDocument: window.sameDocument, shown: window.shown }));
assert.equal(sameDocument, true, "the page was loaded again");
console.log("bars:", JSON.stringify(shown));
const [bar, drains] = [shown["Rollout of shop-workers"], shown["drains in Rollout of shop-workers"]];
for (const values of [bar, shown["Rollout of the control plane"]]) {
  assert.deepEqual(values, values.toSorted((a, b) => a - b), "a bar went back");
}
assert.ok(shown["Rollout of the control plane"].length >= slots - 1, "the page left out stages of the control plane's rollout");
const most = Math.max(...drains);
const ends = drains.slice(drains.lastIndexOf(most));
for (let n = most; n > 0; n--) assert.ok(ends.includes(n), `the page left out the stage with ${n} drains`);
await browser.close();
assert.deepEqual(problems, []);
say("done: one page showed the whole roll");
