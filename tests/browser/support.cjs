// What the checks in a browser share: counting what fails, and pages whose console and requests are listened to.
const { chromium } = require("playwright-core");

const failures = [];

function check(what, ok, detail = "") {
  console.log(`${ok ? "ok  " : "FAIL"} ${what}${ok ? "" : " " + detail}`);
  if (!ok) failures.push(what);
}

/// A page that notes its requests, and everything that the console says against it.
async function openPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, offline: true, acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.requests = [];
  page.complaints = [];
  page.on("request", (request) => /^(data|blob):/.test(request.url()) || page.requests.push(request.url()));
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.complaints.push(message.text()));
  page.on("pageerror", (error) => page.complaints.push(error.message));
  return page;
}

/// Runs the parts, each with the browser, and ends with the number of failures.
async function run(parts, flags = []) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", ...flags] });
  for (const part of parts) await part(browser);
  await browser.close();
  console.log(failures.length ? `${failures.length} checks failed:\n  ${failures.join("\n  ")}` : "all checks passed");
  process.exitCode = failures.length ? 1 : 0;
}

module.exports = { check, openPage, run };
