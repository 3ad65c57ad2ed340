// Drives the page of aws-operator console. The argument is the address that the command printed.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { address, browser, check, open, page, problems, site } from "./lib.mjs";

for (const scheme of ["light", "dark"]) {
  const tab = await open(scheme);
  await check(tab, `overview-${scheme}`);
  for (const [kind, name, namespace] of [
    ["Cluster.cluster-operator.aws", "demo"], ["InstanceGroup.cluster-operator.aws", "demo-workers"],
    ["SQSQueue.service-operator.aws", "billing"], ["SQSQueue.service-operator.aws", "refused"],
    ["AWSIdentity.aws-operator.aws", "team", ""], ["SNSSubscription.service-operator.aws", "script-to-manual"],
    ["SNSTopic.service-operator.aws", "script"],
  ]) {
    await tab.goto(page(kind, name, namespace));
    await tab.waitForSelector(".waits");
    await check(tab, `${name}-${scheme}`);
  }
  const script = await tab.textContent("main");
  assert.match(script, /<img src=x onerror=alert\(1\)>/, "the page shows the text of an object as text");
  await tab.context().close();
}

const tab = await open("light");

// What AWS has of a queue and of a cluster, and the operator's calls.
await tab.goto(page("SQSQueue.service-operator.aws", "billing"));
await tab.waitForSelector("h2:text-is('Last operation on the stacks') ~ .scroll td:has-text('AWS::SQS::Queue')");
await tab.waitForSelector("h2:text-is('Calls of AWS') ~ .scroll td:has-text('CreateStack')");
await tab.goto(page("Cluster.cluster-operator.aws", "demo"));
await tab.waitForSelector("h2:text-is('Instances') ~ .scroll td:has-text('control-plane-0')");
await tab.setViewportSize({ width: 1280, height: 3000 });
await check(tab, "aws");
await tab.setViewportSize({ width: 1280, height: 800 });

// The drawing of references: a click on an object opens its page.
await tab.goto(page("SNSSubscription.service-operator.aws", "script-to-manual"));
await tab.click(".graph .node:has-text('SQSQueue')");
await tab.waitForSelector("h1:text-is('SQSQueue default/manual')");
await tab.waitForSelector("h2:text-is('References') ~ .scroll a:text-is('SNSSubscription script-to-manual')");
await tab.goto(`${site}#/`);
await tab.waitForSelector("td.c-mark");

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
