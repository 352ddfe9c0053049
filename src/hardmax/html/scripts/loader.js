// Starts the playground of a page that is one file: each module gets a blob address, imported ones first.
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const address = {};
for (const [name, source] of read("hardmax-modules")) {
  const linked = source.replace(/"hardmax:([^"]+)"/g, (_, other) => JSON.stringify(address[other]));
  address[name] = URL.createObjectURL(new Blob([linked], { type: "text/javascript" }));
}
const { startApp } = await import(address["js/app.js"]);
const { encodeState } = await import(address["js/state.js"]);
const root = document.getElementById("hardmax-root");
root.id = "app";
const app = await startApp(root);
const { cloud, ...state } = read("hardmax-state");
if (cloud) state.pts = { d: cloud.d, coords: Float64Array.from(cloud.coords) };
app.set(state);
window.hardmaxLink = () => encodeState(app.state);
