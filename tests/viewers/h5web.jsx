// The page of h5web.cjs: h5web itself, showing the file that the address names: /?attention.h5 and /?attention.h5#/tokens.
import { App } from "@h5web/app";
import { H5WasmBufferProvider } from "@h5web/h5wasm";
import "@h5web/app/dist/styles.css";
import { createElement } from "react";
import { createRoot } from "react-dom/client";

const filename = decodeURIComponent(location.search.slice(1));
const buffer = await (await fetch(filename)).arrayBuffer();
const initialPath = decodeURIComponent(location.hash.slice(1)) || "/";
createRoot(document.getElementById("root")).render(
  createElement(H5WasmBufferProvider, { filename, buffer }, createElement(App, { initialPath, sidebarOpen: false, propagateErrors: false })),
);
