// Drives the page of a console that users share. The arguments are the address of the console, and two tokens of a user
// who may list the objects of the namespace default only. The proxy that adds them is here.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import http from "node:http";
import { browser, check } from "./lib.mjs";

const [back, ...tokens] = process.argv.slice(2);
const host = "console.example.com";
let token = tokens[0];
const watched = []; // the tokens of streams

const proxy = http.createServer((request, response) => {
  if (request.url.startsWith("/api/watch")) watched.push(token);
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const passed = http.request(`${back}${request.url}`, { method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  passed.on("error", () => response.destroy());
  response.on("close", () => passed.destroy());
  request.pipe(passed);
}).listen(0, "127.0.0.1");
await new Promise((resolve) => proxy.once("listening", resolve));
const site = `http://${host}:${proxy.address().port}`;

const tab = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
const problems = [];
tab.on("pageerror", (error) => problems.push(error.message));

// The user may not list the objects of all namespaces, and selects one.
await tab.goto(site);
await tab.waitForSelector(".note:has-text('Enter a namespace above')");
assert.match(await tab.textContent("#where"), /as system:serviceaccount:default:ada$/);
await check(tab, "shared-all-namespaces");
await tab.fill("#namespace", "default");
await tab.keyboard.press("Enter");
await tab.waitForSelector("td.c-object a:text-is('demo')");
assert.equal(new URL(tab.url()).search, "?namespace=default");
assert.equal(await tab.inputValue("#namespace"), "default");
await check(tab, "shared-namespace");

// The proxy has another token for the same user: the page reads on with it.
await tab.click("td.c-object a:text-is('demo')");
await tab.waitForSelector(".waits");
token = tokens[1];
const until = Date.now() + 60_000;
while (!watched.includes(tokens[1])) {
  assert.ok(Date.now() < until, "the page did not connect with the new token");
  await tab.waitForTimeout(100);
}
await tab.waitForSelector("#connection:text-is('Live')");
await tab.waitForSelector("h1:text-is('Cluster default/demo')");

// The token is no longer valid: the page loads itself again, and says why there is nothing.
execFileSync("kubectl", ["delete", "serviceaccount", "ada"]);
await tab.waitForSelector("h1:text-is('Not connected')", { timeout: 120_000 });
assert.match(await tab.textContent("main .error"), /does not accept your credentials/);
await check(tab, "shared-signed-out");

assert.deepEqual(problems, []);
console.log("a page of a shared console followed its user's tokens until the last one was invalid");
await browser.close();
proxy.close();
proxy.closeAllConnections();
