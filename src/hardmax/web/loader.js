// The modules of a page whose scripts are classic ones: each is a function that runs when it is first needed.
globalThis.hardmaxModules = (() => {
  const known = new Map(); // name -> { needs, make }
  const made = new Map(); // name -> what the module exports
  const folder = globalThis.document?.currentScript?.src.replace(/[^/]*$/, "") ?? "";

  const define = (name, needs, make) => { if (!known.has(name)) known.set(name, { needs, make }); };

  const need = (name) => {
    if (!made.has(name)) made.set(name, known.get(name).make(need));
    return made.get(name);
  };

  /** Run a classic script beside this one. A script that could not be read is read again by the next call. */
  const run = (file) => new Promise((resolve, reject) => {
    if (!folder) { reject(new Error(`${file} is not part of this page`)); return; }
    const script = document.createElement("script");
    script.onload = () => { script.remove(); resolve(); };
    script.onerror = () => { script.remove(); reject(new Error(`${file} could not be read`)); };
    script.src = folder + file;
    document.head.append(script);
  });

  /** Read a module and all that it needs. */
  const fetched = async (name, seen) => {
    if (seen.has(name)) return;
    seen.add(name);
    if (!known.has(name)) await run(name);
    await Promise.all(known.get(name).needs.map((one) => fetched(one, seen)));
  };

  const load = async (name) => {
    await fetched(name, new Set());
    return need(name);
  };

  /** A worker that runs a module: workers of a page from disk can read no file, so theirs is made of the functions here. */
  const worker = (name) => {
    const taken = new Set();
    const take = (one) => { if (!taken.has(one)) known.get(one).needs.forEach(take); taken.add(one); };
    take(name);
    const parts = [...taken].map((one) => `known.set(${JSON.stringify(one)}, ${known.get(one).make});`);
    const text = `"use strict"; const known = new Map(), made = new Map();
      const need = (name) => { if (!made.has(name)) made.set(name, known.get(name)(need)); return made.get(name); };
      ${parts.join("\n")} need(${JSON.stringify(name)});`;
    const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    return new Worker(address);
  };

  return { define, need, run, load, worker };
})();
