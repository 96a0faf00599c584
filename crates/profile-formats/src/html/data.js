'use strict';
// The data of the page, unpacked: methods, stacks as a tree from the outermost frame inwards, and weighed rows on it.
// Numbers come as LEB128 in base64, texts as JSON. Nothing here ever becomes markup: names are hostile.

const given = JSON.parse(document.getElementById('data').textContent);

// What a frame can be. The first ones have the order of the writer's list.
const KINDS = [
  { id: 'own', title: 'own code', hue: 24, tint: 86 },
  { id: 'framework', title: '.NET framework', hue: 140, tint: 40 },
  { id: 'runtime', title: '.NET runtime', hue: 270, tint: 42 },
  { id: 'native', title: 'native', hue: 210, tint: 46 },
  { id: 'kernel', title: 'kernel', hue: 350, tint: 52 },
  { id: 'stub', title: 'stub', hue: 60, tint: 26 },
  { id: 'thread', title: 'thread', hue: 220, tint: 8 },
  { id: 'process', title: 'process', hue: 220, tint: 8 },
];
const [OWN, THREAD, PROCESS] = [0, 6, 7];

/** A function that gives the numbers of a packed text one after the other. */
function numbersOf(packed) {
  const bytes = atob(packed);
  let at = 0;
  const next = () => {
    let number = 0, unit = 1, byte;
    do {
      byte = bytes.charCodeAt(at++);
      // Not by shifting: weights have more than 32 bits.
      number += (byte & 127) * unit;
      unit *= 128;
    } while (byte >= 128);
    return number;
  };
  next.isOver = () => at >= bytes.length;
  return next;
}

const methods = [];
{
  const next = numbersOf(given.methods);
  const text = () => { const number = next(); return number === 0 ? '' : given.texts[number - 1]; };
  while (!next.isOver()) {
    const [kind, name, module, file, line, more] = [next(), text(), text(), text(), next(), next()];
    methods.push({ kind, name, module, file, line, lastLine: line + more });
  }
}

// Stacks: the caller of each node stands before it; -1 is none.
const callerOf = new Int32Array(given.nodeCount), methodOf = new Int32Array(given.nodeCount);
{
  const next = numbersOf(given.nodes);
  for (let node = 0; node < given.nodeCount; node++) {
    const back = next();
    callerOf[node] = back === 0 ? -1 : node - back;
    methodOf[node] = next();
  }
}

// Rows: side, thread, innermost node (-1: no stack), weight, samples.
const rows = [];
{
  const next = numbersOf(given.rows);
  while (!next.isOver()) {
    rows.push({ side: next(), thread: next(), node: next() - 1, weight: next(), samples: next() });
  }
}

// Threads and processes stand in the picture as frames; so does a stack that is not known.
const noStack = methods.push({ kind: THREAD, name: '(no stack)', module: '', file: '', line: 0, lastLine: 0 }) - 1;
const label = (kind, name) => methods.push({ kind, name, module: '', file: '', line: 0, lastLine: 0 }) - 1;
const everything = label(PROCESS, 'all');
const processLabels = given.processes.map(([id, name]) => label(PROCESS, name ? `${name} (${id})` : `process ${id}`));
const threadLabels = given.threads.map(([, id, name]) => label(THREAD, name ? `${name} (${id})` : `thread ${id}`));
const nameLabels = (() => {
  const known = new Map();
  return given.threads.map(([, , name]) => {
    const shown = name || '(threads without a name)';
    if (!known.has(shown)) known.set(shown, label(THREAD, shown));
    return known.get(shown);
  });
})();

/** A weight for people: a time, bytes or a number. */
function weightText(weight) {
  const short = (value) => value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
  const scaled = (units, step) => {
    let unit = 0, value = weight;
    while (value >= step * 0.9995 && unit + 1 < units.length) { value /= step; unit++; }
    return `${short(value)} ${units[unit]}`;
  };
  if (given.unit === 'nanoseconds') return scaled(['ns', 'µs', 'ms', 's'], 1000);
  if (given.unit === 'bytes') return scaled(['B', 'kB', 'MB', 'GB', 'TB'], 1000);
  return Math.round(weight).toLocaleString('en');
}

/** A share for people. */
function shareText(part, whole) {
  if (!(whole > 0)) return '0 %';
  const share = 100 * part / whole;
  return share > 0 && share < 0.05 ? '<0.1 %' : `${share.toFixed(1)} %`;
}

/** `Type.Method` of a full name. */
function shortName(name) {
  const end = name.search(/[<(\[ ]/);
  const head = end > 0 ? name.slice(0, end) : name;
  const last = head.lastIndexOf('.');
  const before = last > 0 ? head.lastIndexOf('.', last - 1) : -1;
  return before >= 0 ? name.slice(before + 1) : name;
}
