// Modules, scripts and workers that the page loads when it first needs them. The names are paths below static/.
// web/bundle.py makes the scripts: it finds the names in the calls of loadModule("...") and startWorker("...").

const page = globalThis.hardmaxModules; // web/loader.js

/** What a module exports. After a failure it may be asked for again. */
export const loadModule = (name) => page.load(name);

/** A worker that runs a module of the page. */
export const startWorker = (name) => page.worker(name);
