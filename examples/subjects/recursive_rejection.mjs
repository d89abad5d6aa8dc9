// Recursive rejection on a draft tree (SpecInfer, arXiv 2305.09781) as a subject for draftproof, for Node.js, without packages.
//
//   draftproof check --command 'node recursive_rejection.mjs'
//
// It draws its own random numbers, so it is judged by sampling; "counts" lets the judge ask for many blocks of one tree at once.

import { createInterface } from "node:readline";

const hello = { shape: "tree", family: "recursive_rejection", rows: "probs", dtype: "float64", randomness: "counts" };

/** A generator of uniforms in [0, 1) with 53 bits, from two rounds of a 32-bit mixer (splitmix32). */
function generator(seed) {
  let low = seed >>> 0;
  let high = Math.floor(seed / 2 ** 32) >>> 0;
  const mixed = (x) => {
    x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
    x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
    return (x ^ (x >>> 15)) >>> 0;
  };
  const next = () => {
    low = (low + 0x9e3779b9) >>> 0;
    if (low < 0x9e3779b9) high = (high + 1) >>> 0;
    return mixed(low ^ mixed(high ^ 0x5bf03635));
  };
  return () => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
}

/** A token drawn with these weights, by inverse CDF. */
function drawn(weights, uniform) {
  const aim = uniform() * weights.reduce((sum, weight) => sum + weight, 0);
  let below = 0;
  let last = 0;
  for (const [token, weight] of weights.entries()) {
    if (weight <= 0) continue;
    last = token;
    below += weight;
    if (aim < below) break;
  }
  return last;
}

/** The block of one tree: the accepted path and the bonus token. */
function verify(tree, uniform) {
  const vocabulary = tree.target[0].length;
  const declared = (node) =>
    tree.declared ? tree.declared[node] : Array.from({ length: vocabulary }, (_, token) => Number(token === tree.tokens[node]));
  const block = [];
  let node = 0;
  for (;;) {
    let residual = tree.target[node];
    let total = residual.reduce((sum, weight) => sum + weight, 0);
    let accepted = 0;
    for (let child = 1; child < tree.tokens.length; child++) {
      if (tree.parents[child] !== node) continue; // siblings are tested in the order in which they were drawn
      const law = declared(child);
      const token = tree.tokens[child];
      if (uniform() * law[token] * total < residual[token]) {
        accepted = child;
        break;
      }
      const scale = 1 / total;
      const left = residual.map((weight, other) => Math.max(weight * scale - law[other], 0));
      const mass = left.reduce((sum, weight) => sum + weight, 0);
      if (mass > 0) [residual, total] = [left, mass];
    }
    if (!accepted) return [...block, drawn(residual, uniform)];
    block.push(tree.tokens[accepted]);
    node = accepted;
  }
}

function counts({ tree, count, seed }) {
  const uniform = generator(seed);
  const seen = new Map();
  for (let i = 0; i < count; i++) {
    const block = verify(tree, uniform);
    const key = block.join(" ");
    const entry = seen.get(key) ?? [block, 0];
    entry[1] += 1;
    seen.set(key, entry);
  }
  return [...seen.values()];
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  const answer = message.draftproof ? { hello } : { counts: counts(message.sample) };
  process.stdout.write(JSON.stringify(answer) + "\n");
}
