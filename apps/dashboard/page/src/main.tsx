import "./look/look.css";
import "./app/visible-text.js";
import { render } from "preact";
import "./app/preferences.js";
import { start } from "./app/store.js";
import { App } from "./app.js";

const page = document.querySelector("#page");
if (page === null) throw new Error("index.html has no #page");
page.replaceChildren();
start();
render(<App />, page);
