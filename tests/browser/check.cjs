// Tries the pages of pages.py in headless Chromium; prints a line for each check and the failures again at the end.
const fs = require("fs");
const path = require("path");
const { check, openPage, run } = require("./support.cjs");

const wanted = JSON.parse(fs.readFileSync("wanted.json", "utf8").replace(/-?Infinity|NaN/g, "null"));
const near = (a, b, tolerance = 1e-6) => Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(b));
const number = (text) => Number(text.replace("\u2212", "-").replace("\u221e", "Infinity"));
/// What the page writes brings back the same float32.
const exact = (what, got, value) => check(what, Math.fround(got) === Math.fround(value), `got ${got}, wanted ${value}`);
const same = (what, got, value, tolerance) => check(what, near(got, value, tolerance), `got ${got}, wanted ${value}`);

async function open(browser, name, options) {
  const page = await openPage(browser, options);
  await page.goto("file://" + path.resolve(name));
  await settle(page);
  return page;
}

/// Waits until what was asked for is drawn.
const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20)))));

async function press(page, ...keys) {
  await page.evaluate(() => document.activeElement?.blur());
  for (const key of keys) await page.keyboard.press(key);
  await settle(page);
}

async function close(page, name) {
  check(`${name}: one request`, page.requests.length === 1, page.requests.join(" "));
  check(`${name}: the console is silent`, page.complaints.length === 0, page.complaints.join(" | "));
  await page.context().close();
}

const state = (page) => page.evaluate(() => window.heed.app.state);

/// Points at a cell of the heat map that is shown, and reads the panel and the tooltip.
async function hover(page, row, col, viewport = 0) {
  const at = await page.evaluate(([row, col]) => {
    const { drawing, scroller } = window.heed.app.viewport;
    const box = scroller.getBoundingClientRect();
    return [box.left + drawing.left + (col + 0.5) * drawing.cell - scroller.scrollLeft, box.top + drawing.top + (row + 0.5) * drawing.cell - scroller.scrollTop];
  }, [row, col]);
  await page.mouse.move(...at);
  await settle(page);
  return { value: number(await page.textContent("#cell-value")), tooltip: number(await page.textContent("#tooltip strong")), at };
}

async function checkWords(browser) {
  const { cross, own } = wanted.words;
  const page = await open(browser, "words.html");
  const scriptRan = await page.evaluate(() => document.querySelectorAll("b").length);
  check("words: labels make no elements", scriptRan === await page.locator("#help b").count());
  for (const [row, col] of [[0, 0], [3, 1], [4, 4]]) {
    const { value, tooltip } = await hover(page, row, col);
    exact(`words: cell ${row} ${col}`, value, cross[0][0][0][0][row][col]);
    check("words: the tooltip says the same", value === tooltip);
  }
  check("words: titled by what is shown", (await page.textContent("#title")) === "Title of cross_attention" && (await page.title()) === "Title of cross_attention", await page.textContent("#title"));
  await page.selectOption("#group", "1");
  check("words: the title turns with it", (await page.textContent("#title")) === "Title of attention_encoder");
  await page.selectOption("#outer-sentence", "1");
  await page.selectOption("#layer", "1");
  await page.selectOption("#head", "3");
  await settle(page);
  exact("words: encoder, sentence 1, layer 1, head 3", (await hover(page, 2, 1)).value, own[1][1][3][2][1]);
  await hover(page, 0, 1);  // from a Hebrew word
  const [query, key] = await page.$$eval("#tooltip bdi", (words) => words.map((word) => word.getBoundingClientRect().left));
  check("words: the query stands before the key, whatever way it runs", query < key, `${query} ${key}`);
  await page.selectOption("#head", "mean");
  await settle(page);
  same("words: mean of the heads", (await hover(page, 2, 1)).value, own[1][1].reduce((sum, head) => sum + head[2][1] / 4, 0));
  await page.selectOption("#head", "max");
  await settle(page);
  same("words: largest of the heads", (await hover(page, 2, 1)).value, Math.max(...own[1][1].map((head) => head[2][1])));
  await page.selectOption("#group", "0");
  await page.selectOption("#outer-sentence", "0");
  await page.selectOption("#outer-rank", "1");
  await page.selectOption("#layer", "2");
  await page.selectOption("#head", "1");
  await settle(page);
  exact("words: hypothesis 1", (await hover(page, 1, 2)).value, cross[0][1][2][1][1][2]);

  // Pins and sums.
  const map = cross[0][1][2][1];
  for (const row of [0, 2]) {
    const { at } = await hover(page, row, 0);
    await page.mouse.click(await page.evaluate(() => document.querySelector("#stage .viewport").getBoundingClientRect().left + 40), at[1]);
  }
  await page.mouse.move(5, 5);
  await settle(page);
  const sums = await page.locator("#panel .bars .number").allTextContents();
  const expected = map[0].map((value, col) => value + map[2][col]).sort((a, b) => b - a);
  check("words: sums of two pinned rows", sums.length === 5 && sums.every((text, i) => near(number(text), expected[i])), sums.join(" "));
  await page.locator("#panel .pins button").first().click();
  check("words: unpinned by its button", await page.evaluate(() => [...window.heed.app.pins.rows].join() === "2"));
  await press(page, "Escape");
  check("words: Escape unpins", await page.evaluate(() => window.heed.app.pins.rows.size === 0));

  // Words, marks, threshold, colours, size.
  await page.selectOption("#outer-rank", "0");
  await page.check("#merge");
  await settle(page);
  const pieces = cross[0][0][2][1];
  const merged = [1, 2].reduce((sum, row) => sum + (pieces[row][1] + pieces[row][2]) / 2, 0);
  same("words: merged, sum over key pieces and mean over query pieces", (await hover(page, 1, 1)).value, merged);
  check("words: says how it merges", /summed.*averaged/.test(await page.textContent("#note")));
  await page.check("#drop");
  await settle(page);
  check("words: marks dropped", await page.evaluate(() => window.heed.app.matrix.rows === 3 && window.heed.app.matrix.cols === 3));
  await page.uncheck("#drop");
  await page.uncheck("#merge");
  await page.fill("#threshold", "300");
  await settle(page);
  check("words: threshold said", (await page.textContent("#threshold-value")) === "0.300");
  await page.selectOption("#colormap", "magma");
  await page.selectOption("#scale", "map");
  const cell = () => page.evaluate(() => window.heed.app.viewport.drawing.cell);
  const before = await cell();
  await page.click("#larger");
  check("words: larger", await cell() > before);
  await page.click("#fit");
  check("words: fit", await cell() === before);
  await page.click("#smaller");
  check("words: smaller", await cell() < before);

  // Help, theme, address.
  await page.click("#help-open");
  check("words: help opens", await page.isVisible("#help") && (await page.locator("#help-keys tr").count()) > 10);
  await page.keyboard.press("Escape");
  check("words: help closes", !(await page.isVisible("#help")));
  await page.click("#theme");
  check("words: dark", (await page.evaluate(() => document.documentElement.dataset.theme)) === "dark");
  const address = page.url();
  check("words: the address holds the state", /layer=2/.test(address) && /threshold=300/.test(address));
  await close(page, "words");
}

async function checkKeys(browser) {
  const page = await open(browser, "words.html");
  await press(page, "ArrowDown", "ArrowRight", "ArrowRight");
  let now = await state(page);
  check("keys: arrows turn layer and head", now.layer === 1 && now.head === 2);
  await press(page, "ArrowUp", "ArrowLeft", "]", ")");
  now = await state(page);
  check("keys: brackets turn sentence and hypothesis", now.layer === 0 && now.head === 1 && now.at.join() === "1,1");
  await press(page, "[", "(", "a");
  check("keys: A turns the kind", (await state(page)).group === 1);
  await press(page, "a", "Shift+ArrowRight", "Shift+ArrowRight", "Shift+ArrowDown");
  check("keys: Shift and arrows move the cell", (await page.evaluate(() => Object.values(window.heed.app.cursor).join())) === "1,1");
  exact("keys: the value of that cell", number(await page.textContent("#cell-value")), wanted.words.cross[0][0][0][0][1][1]);
  check("keys: it is announced", /\u2192.*: 0/.test(await page.textContent("#status")));
  await press(page, "Enter", "Shift+Enter");
  check("keys: Enter pins", await page.evaluate(() => window.heed.app.pins.rows.has(1) && window.heed.app.pins.cols.has(1)));
  await press(page, "Escape", "t", "t", "m", "x");
  now = await state(page);
  check("keys: threshold, merge, drop", now.threshold === 40 && now.merge && now.drop);
  await press(page, "Shift+T", "2");
  now = await state(page);
  check("keys: lines", now.threshold === 20 && now.view === "lines");
  await press(page, "3");
  check("keys: grid", (await page.locator(".grid button").count()) === 12);
  await press(page, "1", "+");
  check("keys: larger", (await state(page)).zoom === 1);
  await press(page, "0", "d", "?");
  check("keys: dark and help", (await page.evaluate(() => document.documentElement.dataset.theme)) === "dark" && await page.isVisible("#help"));
  await page.keyboard.press("Escape");
  await press(page, "ArrowRight");
  await page.focus("#layer");
  await page.keyboard.press("ArrowDown");
  now = await state(page);
  check("keys: a menu keeps its arrows", now.layer === 1 && now.head === 1);
  await close(page, "keys");
}

async function checkGridAndLines(browser) {
  const page = await open(browser, "words.html");
  await page.click("[data-view=grid]");
  await page.screenshot({ path: "words-grid.png" });
  await page.click("[aria-label='Open layer 2 head 3']");
  await settle(page);
  exact("grid: a click opens the head", (await hover(page, 0, 3)).value, wanted.words.cross[0][0][2][3][0][3]);
  await page.click("[data-view=lines]");
  await page.selectOption("#head", "all");
  await settle(page);
  check("lines: a colour for each head", (await page.locator(".chip").count()) === 4);
  const box = await page.locator("#stage .viewport").boundingBox();
  await page.mouse.click(box.x + box.width - 20, box.y + 30 + 13);
  check("lines: a click pins the query", await page.evaluate(() => [...window.heed.app.pins.rows].join() === "0"));
  await page.screenshot({ path: "words-lines.png" });
  await close(page, "grid and lines");
}

async function checkDownloads(browser) {
  const page = await open(browser, "words.html");
  for (const view of ["map", "lines", "grid"]) {
    await page.click(`[data-view=${view}]`);
    await settle(page);
    for (const kind of ["svg", "png"]) {
      const [download] = await Promise.all([page.waitForEvent("download"), page.click("#" + kind)]);
      const file = `download-${view}.${kind}`;
      await download.saveAs(file);
      const bytes = fs.readFileSync(file);
      if (kind === "png") {
        check(`download: ${view} as PNG`, bytes.subarray(1, 4).toString() === "PNG" && bytes.length > 5000);
        continue;
      }
      const parsed = await page.evaluate((text) => {
        const document_ = new DOMParser().parseFromString(text, "image/svg+xml");
        return [document_.querySelectorAll("parsererror").length, document_.documentElement.textContent, /https?:(?!\/\/www\.w3\.org\/2000\/svg)/.test(text)];
      }, bytes.toString());
      check(`download: ${view} as SVG`, parsed[0] === 0 && (view === "grid" || parsed[1].includes("gol@@")) && !parsed[2]);
    }
  }
  await page.click("[data-view=map]");
  const pdf = await page.pdf();
  fs.writeFileSync("print.pdf", pdf);
  check("print: a page of vectors", pdf.length > 5000 && await page.evaluate(() => { dispatchEvent(new Event("beforeprint")); return document.querySelectorAll("#print svg rect").length > 20; }));
  await close(page, "downloads");
}

async function checkSteps(browser) {
  const page = await open(browser, "steps.html");
  await page.click("[data-view=steps]");
  await settle(page);
  const titles = await page.locator(".step-list button").allTextContents();
  check("steps: all stages in order", titles.join() === "Queries,Keys,Products,Scores,Masked,Weights,Values,Weighted values,Context of the head,Context", titles.join());
  check("steps: no step before the first", await page.isDisabled("#back"));
  await page.selectOption("#step-query", "30");
  await page.selectOption("#step-key", "7");
  await page.selectOption("#head", "1");
  const seen = {};
  for (const title of titles) {
    await settle(page);
    seen[title] = await page.evaluate(() => {
      const { content } = window.heed.app;
      const { matrix } = content.parts[content.parts.length - 1];
      return { values: [...matrix.values], cols: matrix.cols, text: document.querySelector(".equation").textContent, check: document.querySelector(".check")?.textContent ?? "" };
    });
    await page.screenshot({ path: `steps-${titles.indexOf(title)}.png` });
    if (title !== titles[titles.length - 1]) await page.click("#forward");
  }
  check("steps: no step after the last", await page.isDisabled("#forward"));
  const { steps } = wanted;
  const compare = (title, rows) => {
    const flat = rows.flat();
    const worst = flat.reduce((most, value, i) => Math.max(most, Math.abs(value - seen[title].values[i])), 0);
    check(`steps: ${title} as in the file`, seen[title].values.length === flat.length && worst < 1e-6, String(worst));
  };
  compare("Products", steps.products[1]);
  compare("Scores", steps.scores[1]);
  compare("Weights", steps.weights[1]);
  compare("Weighted values", steps.weighted_values[1][30]);
  compare("Context of the head", steps.head_context[1]);
  compare("Context", steps.context);
  check("steps: the product is said", seen.Products.text.replace("\u2212", "-").includes(String(Math.fround(steps.products[1][30][7])).slice(0, 7)), seen.Products.text);
  for (const title of ["Products", "Scores", "Masked", "Weights", "Context of the head", "Context"]) {
    const difference = /difference is ([\d.e-]+)\./.exec(seen[title].check);
    check(`steps: ${title} computed again`, difference && Number(difference[1]) < 1e-5, seen[title].check);
  }
  await press(page, "b", "b", "n");
  check("steps: B and N walk", (await state(page)).step === titles.length - 2);
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#svg")]);
  await download.saveAs("download-steps.svg");
  check("steps: download", fs.readFileSync("download-steps.svg", "utf8").includes("Context of the head"));
  await close(page, "steps");
}

/// A temperature is a stage of its own, between the scores and the masked scores.
async function checkTempered(browser) {
  const page = await open(browser, "tempered.html");
  await page.click("[data-view=steps]");
  await page.getByRole("button", { name: "Tempered" }).click();
  await page.selectOption("#step-query", "30");
  await page.selectOption("#step-key", "7");
  await settle(page);
  const said = await page.textContent(".equation");
  check("tempered: says the temperature and divides by it", /\u03c4 = 0\.5000:.* \/ 0\.5000 = /.test(said), said);
  const wantedScore = wanted.steps.scores[0][30][7] / 0.5;
  const { matrix } = await page.evaluate(() => { const { parts } = window.heed.app.content; const { rows, cols, values } = parts[parts.length - 1].matrix; return { matrix: { rows, cols, values: [...values] } }; });
  same("tempered: the score over the temperature", matrix.values[30 * matrix.cols + 7], wantedScore, 1e-5);
  for (const title of ["Tempered", "Masked", "Weights"]) {
    await page.getByRole("button", { name: title, exact: true }).click();
    await settle(page);
    const difference = /difference is ([\d.e-]+)\./.exec(await page.textContent(".check"));
    check(`tempered: ${title} computed again`, difference && Number(difference[1]) < 1e-5);
  }
  await page.screenshot({ path: "tempered.png" });
  await close(page, "tempered");
}

/// In the page: 40 times scrolls on and points at another cell; the times of drawing, and of what lay between frames.
async function scrollAndPoint() {
  const { app } = window.heed;
  const list = [];
  const started = performance.now();
  for (let i = 0; i < 40; ++i) {
    app.viewport.scroller.scrollTop = i * 12;
    app.inspect(i % 2 ? { row: 200 + i } : {});
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    list.push(app.viewport.milliseconds);
  }
  return { list: list.sort((a, b) => a - b), apart: (performance.now() - started) / 80 };
}

async function checkLong(browser) {
  const page = await open(browser, "long.html");
  await page.selectOption("#layer", "1");
  await page.selectOption("#head", "1");
  await settle(page);
  for (const view of ["map", "lines"]) {
    await page.click(`[data-view=${view}]`);
    await settle(page);
    let best = null;  // of three rounds, for the machine may be busy
    for (let round = 0; round < 3; ++round) {
      const times = await page.evaluate(scrollAndPoint);
      if (!best || times.apart < best.apart) best = times;
    }
    const { list, apart } = best;
    console.log(`     500 words, ${view}: drawing takes ${list[20].toFixed(1)} ms, at most ${list[39].toFixed(1)} ms; frames come every ${apart.toFixed(1)} ms`);
    check(`long: ${view} is smooth`, list[20] < 20);
    await page.screenshot({ path: `long-${view}.png` });
  }
  await page.click("[data-view=map]");
  await page.evaluate(() => { window.heed.app.cursor = { row: 250, col: 243 }; });
  await press(page, "Shift+ArrowRight");
  exact("long: a cell far from the corner", number(await page.textContent("#cell-value")), wanted.long[244]);
  check("long: scrolled into sight", await page.evaluate(() => { const { scroller, drawing } = window.heed.app.viewport; return scroller.scrollTop + scroller.clientHeight >= drawing.top + 251 * drawing.cell; }));
  check("long: few elements", await page.evaluate(() => document.querySelectorAll("*").length < 500));
  await page.click("[data-view=grid]");
  await page.waitForTimeout(500);
  await page.screenshot({ path: "long-grid.png" });
  await close(page, "long");
}

async function checkPlain(browser) {
  const page = await open(browser, "plain.html");
  exact("plain: a matrix of another program", (await hover(page, 5, 8)).value, wanted.plain[5][8]);
  check("plain: no menus that choose nothing", !(await page.isVisible("#layer")) && !(await page.isVisible("#head")) && !(await page.isVisible("#group")));
  await close(page, "plain");
}

async function takePictures(browser) {
  for (const colorScheme of ["light", "dark"]) {
    const page = await open(browser, "words.html", { colorScheme });
    check(`pictures: ${colorScheme} is followed`, (await page.evaluate(() => document.documentElement.dataset.theme)) === colorScheme);
    await page.selectOption("#outer-sentence", "1");
    await page.selectOption("#outer-rank", "1");
    await hover(page, 2, 1);
    await page.screenshot({ path: `words-map-${colorScheme}.png` });
    await close(page, `pictures, ${colorScheme}`);
  }
  const page = await open(browser, "steps.html", { viewport: { width: 700, height: 900 } });
  await page.screenshot({ path: "steps-narrow.png" });
  await close(page, "pictures, narrow");
}

run([checkWords, checkKeys, checkGridAndLines, checkDownloads, checkSteps, checkTempered, checkLong, checkPlain, takePictures]);
