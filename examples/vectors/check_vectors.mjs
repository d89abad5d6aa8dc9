// Test vectors of draftproof used from another language: two verifiers in JavaScript, held against every tape of theirs.
//
//   draftproof vectors export vectors.json && node check_vectors.mjs vectors.json
//
// Prints how many tapes were tried, how many skipped and why, and the first that differs; exit status 1 if any does.

import { readFileSync } from "node:fs";

const sum = (row) => row.reduce((total, weight) => total + weight, 0);

/** A token with these weights, by inverse CDF in token order. */
function drawn(weights, uniform) {
  const aim = uniform * sum(weights);
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

const children = (tree, node) => tree.tokens.map((_, child) => child).filter((child) => child > 0 && tree.parents[child] === node);

function predrawFollow(tree, uniforms) {
  const block = [];
  for (let node = 0; ; ) {
    block.push(drawn(tree.target[node], uniforms[node]));
    const next = children(tree, node).find((child) => tree.tokens[child] === block.at(-1));
    if (next === undefined) return block;
    node = next;
  }
}

function recursiveRejection(tree, uniforms) {
  const block = [];
  for (let node = 0; ; ) {
    let residual = tree.target[node];
    let accepted = 0;
    for (const child of children(tree, node)) {
      const token = tree.tokens[child];
      const law = tree.declared ? tree.declared[child] : residual.map((_, other) => Number(other === token));
      if (uniforms[child] * law[token] < residual[token] / sum(residual)) {
        accepted = child;
        break;
      }
      const scale = 1 / sum(residual);
      const left = residual.map((weight, other) => Math.max(weight * scale - law[other], 0));
      if (sum(left) > 0) residual = left;
    }
    if (!accepted) return [...block, drawn(residual, uniforms[0])];
    block.push(tree.tokens[accepted]);
    node = accepted;
  }
}

const verifiers = { predraw_follow: predrawFollow, recursive_rejection: recursiveRejection };
const vectors = JSON.parse(readFileSync(process.argv[2], "utf8"));
let tried = 0;
const skipped = new Map();
const wrong = [];
for (const { id, family, tree, uniforms, block, note } of vectors.tapes) {
  if (!(family in verifiers)) {
    skipped.set(family, (skipped.get(family) ?? 0) + 1);
    continue;
  }
  tried += 1;
  const got = verifiers[family](tree, uniforms);
  if (got.join() !== block.join()) wrong.push(`${id}: emits ${got}, should be ${block} (${note})`);
}
for (const { id, blocks, expected_length: length } of vectors.laws) {
  const total = sum(blocks.map((block) => block.probability.decimal));
  const mean = sum(blocks.map((block) => block.probability.decimal * block.tokens.length));
  if (Math.abs(total - 1) > 1e-9 || Math.abs(mean - length.decimal) > 1e-9) wrong.push(`${id}: is no law, or not of this length`);
}
console.log(`${tried} tapes and ${vectors.laws.length} laws, ${wrong.length} wrong`);
for (const [family, count] of skipped) console.log(`skipped ${count} tapes of ${family}: there is no such verifier in this file`);
if (wrong.length) console.log(wrong[0]);
process.exitCode = tried && !wrong.length ? 0 : 1;
