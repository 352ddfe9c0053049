// Modules, scripts and workers that the page loads when it first needs them. The names are paths below static/.
// A page without a server has no modules to import but classic scripts: html/scripts/loader.js, made by web/bundle.py,
// which finds the names in the calls of loadModule("...") and startWorker("...").

const page = globalThis.hardmaxModules;
const addressOf = (name) => new URL(`../${name}`, import.meta.url);
const read = new Set(); // modules that can be imported: they have been read before
let attempts = 0;

/** What a module exports. After a failure it may be asked for again. */
export async function loadModule(name) {
  if (page) return page.load(name);
  await readable(addressOf(name).href);
  try {
    return await import(addressOf(name).href);
  } catch (error) {
    attempts += 1; // browsers remember an import that failed, by its address
    if (!(error instanceof TypeError)) throw error;
    return import(`${addressOf(name).href}?again=${attempts}`);
  }
}

/** Read a module and all that it imports: browsers remember an import that failed, but not a fetch. */
async function readable(address) {
  if (read.has(address)) return;
  read.add(address);
  try {
    const response = await fetch(address);
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    const text = await response.text();
    await Promise.all([...text.matchAll(/^(?:import|export)\b[^;]*?["'](\.{1,2}\/[^"']+)["'];/gm)]
      .map((match) => readable(new URL(match[1], address).href)));
  } catch (error) {
    read.delete(address);
    throw error;
  }
}

/** Run a classic script of a page without a server, such as the weights of a model. */
export const runScript = (name) => page.run(name);

/** A worker that runs a module of the page. */
export function startWorker(name) {
  return page ? page.worker(name) : new Worker(addressOf(name), { type: "module" });
}
