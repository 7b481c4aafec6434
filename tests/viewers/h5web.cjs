// Opens the files of make-files in h5web, in headless Chromium: the default view of each is the picture that views.json
// says, with its title and the names of its axes; every other plot in the file can be shown; the console stays silent.
// Run in the folder of the files; h5web.js and h5web.css lie in PAGE.
const fs = require("fs");
const path = require("path");
const { check, openPage, run } = require("../browser/support.cjs");

const views = JSON.parse(fs.readFileSync(path.join(__dirname, "views.json"), "utf8"));
const html = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><link rel="stylesheet" href="h5web.css">
<style>html, body, #root { height: 100%; margin: 0 }</style><div id="root"></div><script type="module" src="h5web.js"></script>`;
const types = { ".js": "text/javascript", ".css": "text/css", ".h5": "application/octet-stream" };

/// Files from the disk in place of a network.
function serve(route) {
  const { pathname } = new URL(route.request().url());
  if (pathname === "/") return route.fulfill({ contentType: "text/html", body: html });
  const folder = pathname.endsWith(".h5") ? "." : process.env.PAGE;
  const file = path.join(folder, path.basename(pathname));
  if (!fs.existsSync(file)) return route.fulfill({ status: 404 });
  return route.fulfill({ contentType: types[path.extname(file)], body: fs.readFileSync(file) });
}

/// What is on show: which tab, the title, what is written along the axes; what h5web says instead of a picture.
const shown = (page) => page.evaluate(() => {
  const text = (selector) => document.querySelector(selector)?.textContent ?? "";
  const figure = document.querySelector("figure");
  return {
    tab: text("[aria-label=Visualization] [aria-selected=true]"),
    title: figure?.getAttribute("aria-label") ?? "",
    labels: [...(figure?.querySelectorAll("svg text") ?? [])].map((label) => label.textContent),
    error: figure ? "" : document.body.innerText.slice(0, 300),
  };
});

/// Opens a file and waits until the texts stand in the page: `selector` finds them.
async function show(browser, address, selector, texts) {
  const page = await openPage(browser);
  await page.route("http://viewer/**", serve);
  await page.goto("http://viewer/?" + address);
  const stand = ([selector, texts]) => {
    const found = [...document.querySelectorAll(selector)].map((element) => element.textContent);
    return texts.every((text) => found.includes(text));
  };
  await page.waitForFunction(stand, [selector, texts], { timeout: 120000 }).catch(() => {});  // the checks say what is missing
  return page;
}

async function checkFile(browser, stem) {
  const { kind, title, axes } = views[stem];
  const page = await show(browser, stem + ".h5", "figure svg text", axes);
  const seen = await shown(page);
  const tab = kind === "image" ? "NX Heatmap" : "NX Line";
  check(`${stem}: ${tab}`, seen.tab === tab, JSON.stringify(seen));
  check(`${stem}: titled "${title}"`, seen.title === title, JSON.stringify(seen));
  check(`${stem}: axes ${axes.join(", ")}`, axes.every((axis) => seen.labels.includes(axis)), JSON.stringify(seen));
  check(`${stem}: the console is silent`, page.complaints.length === 0, page.complaints.join(" | "));
  await page.screenshot({ path: `${stem}.png` });
  await page.context().close();
}

async function checkVocabulary(browser) {
  const page = await show(browser, "vocabulary.h5#/vocabulary/piece", "#root *", ["</s>"]);
  check("vocabulary: the pieces as a list", (await page.textContent("#root")).includes("</s>"));
  check("vocabulary: the console is silent", page.complaints.length === 0, page.complaints.join(" | "));
  await page.screenshot({ path: "vocabulary.png" });
  await page.context().close();
}

const only = process.argv.slice(2);
const stems = Object.keys(views).filter((stem) => only.length === 0 || only.includes(stem));
run([...stems.map((stem) => (browser) => checkFile(browser, stem)), ...(only.length === 0 || only.includes("vocabulary") ? [checkVocabulary] : [])],
  ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"]);
