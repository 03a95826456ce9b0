// Walks through the pages of a daemon in Chromium, by the keyboard alone, and looks for barriers with axe:
// node browser.mjs MODULES SCREENSHOTS ADDRESS VOCABULARY
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [modules, screenshots, address, vocabulary] = process.argv.slice(2);
const require = createRequire(path.join(modules, "node_modules", "x.js"));
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
fs.mkdirSync(screenshots, { recursive: true });

const browser = await chromium.launch({
  executablePath: process.env.GOBO_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});

// As a person has it: the policy of the pages holds, and nothing may go wrong in the console.
const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
const troubles = [];
page.on("console", (message) => message.type() === "error" && troubles.push(message.text()));
page.on("request", (request) => {
  if (!request.url().startsWith(address) && !request.url().startsWith("data:")) troubles.push(`asked for ${request.url()}`);
});

// Presses Tab until what has the focus is called so.
async function tabTo(what) {
  for (let pressed = 0; pressed < 60; pressed++) {
    await page.keyboard.press("Tab");
    const found = await page.evaluate(() => {
      const focused = document.activeElement;
      return focused.id || focused.textContent.trim();
    });
    if (found === what) return;
  }
  assert.fail(`Tab never comes to ${what}`);
}

await page.goto(address + "/");
for (const name of ["Indices", "Verdicts", "Explain"]) {
  await tabTo(name);
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  assert.equal(await page.textContent("h1"), name);
}
await tabTo("vocabulary");
await page.keyboard.type(vocabulary);
await tabTo("kind");
await page.keyboard.type("Regular");
await tabTo("constraint");
await page.keyboard.type("(ab)+c");
await tabTo("text");
await page.keyboard.type("abab");
await tabTo("token");
await page.keyboard.type("b");
await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
assert.match(await page.textContent("[role=status]"), /"b" is refused: after its "" byte b leads nowhere/);
assert.match(await page.textContent("#explanation"), /complete {2}no/);
assert.ok((await page.$$("svg.automaton g.state")).length > 1);
assert.equal((await page.$$("svg.automaton g.present")).length, 1);
// The form has kept what was typed.
assert.equal(await page.inputValue("#constraint"), "(ab)+c");
const picture = await page.$eval("svg.automaton", (svg) => {
  const boxes = [...svg.querySelectorAll("g.state > rect:first-child")].map((rect) => rect.getBoundingClientRect());
  const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  return boxes.some((a, i) => boxes.some((b, j) => i < j && overlap(a, b)));
});
assert.equal(picture, false, "two states lie over each other");
await page.screenshot({ path: path.join(screenshots, "explained.png"), fullPage: true });
const explained = page.url();
const fields = await page.evaluate(() => Object.fromEntries(new FormData(document.querySelector("form"))));
assert.deepEqual(troubles, []);

// Axe is a script, which the policy does not let run: for it alone the policy is set aside.
const open = await (await browser.newContext({ bypassCSP: true, viewport: { width: 1280, height: 900 } })).newPage();
let fine = 0;
for (const colour of ["light", "dark"]) {
  await open.emulateMedia({ colorScheme: colour });
  for (const to of ["/", "/indices", "/verdicts", "/explain"]) {
    await open.goto(address + to);
    if (to === "/explain") {
      assert.equal(explained, address + to);
      await open.selectOption("#vocabulary", fields.vocabulary);
      for (const name of ["constraint", "text", "token"]) await open.fill(`#${name}`, fields[name]);
      await Promise.all([open.waitForNavigation(), open.click("button")]);
    }
    await open.evaluate(axe);
    const { violations } = await open.evaluate(() => window.axe.run());
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
    assert.deepEqual(found, [], `${to} in ${colour}`);
    await open.screenshot({ path: path.join(screenshots, `${to.slice(1) || "overview"}-${colour}.png`), fullPage: true });
    if (colour === "dark") fine++;
  }
}
// A narrow screen is not scrolled sideways.
await open.setViewportSize({ width: 360, height: 800 });
for (const to of ["/", "/indices", "/verdicts", "/explain"]) {
  await open.goto(address + to);
  const width = await open.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 360, `${to} is ${width} wide`);
}
await browser.close();
console.log(`${fine} pages without a finding`);
