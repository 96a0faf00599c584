// The page around the picture: what was chosen, in buttons, keys and the address (#side=off-cpu&search=Foo).

const byId = (id) => document.getElementById(id);
const element = (name, text, title) => {
  const made = document.createElement(name);
  made.textContent = text;
  if (title) made.title = title;
  return made;
};

const GROUPS = [['all', 'All threads'], ['name', 'By thread name'], ['thread', 'By thread']];
// With more than one side, all of them can be looked at together; a comparison is looked at as it was or as it is.
const sideChoices = given.sides.map((side, place) => [side.id, side.title, [place]]);
if (sideCount > 1 && !given.isDifference) {
  sideChoices.push(['both', sideCount === 2 ? 'Both' : 'All', given.sides.map((_, place) => place)]);
}

const asked = { side: sideChoices[given.isDifference ? 1 : 0][0], group: given.group, reverse: false, fold: false, search: '', zoom: '', top: false };
const usual = { ...asked };
const state = { view: null, sides: [0], zoom: 0, chosen: -1, isMatch: null };
let builtFor = '';

function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  Object.assign(asked, usual);
  if (sideChoices.some(([id]) => id === words.get('side'))) asked.side = words.get('side');
  if (GROUPS.some(([id]) => id === words.get('group'))) asked.group = words.get('group');
  for (const name of ['reverse', 'fold', 'top']) asked[name] = words.get(name) === '1';
  asked.search = words.get('search') || '';
  asked.zoom = words.get('zoom') || '';
}

function writeAddress() {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(asked)) {
    if (value !== usual[name]) words.set(name, value === true ? '1' : value);
  }
  const hash = `#${words}`;
  // Some browsers do not let a page from a file do this; the picture is the same without.
  try { history.replaceState(null, '', hash); } catch { /* the address stays */ }
}

/** Does what was asked for, and shows it. */
function show() {
  const wanted = [asked.group, asked.reverse, asked.fold].join();
  if (wanted !== builtFor) {
    state.view = new View(asked.group, asked.reverse, asked.fold);
    builtFor = wanted;
  }
  state.sides = sideChoices.find(([id]) => id === asked.side)[2];
  state.zoom = nodeOf(asked.zoom);
  // What was chosen may not be there in what is looked at now.
  if (state.chosen >= state.view.method.length || !(state.view.width(Math.max(state.chosen, 0), state.sides) > 0)) {
    state.chosen = -1;
  }
  const text = asked.search.trim().toLowerCase();
  state.isMatch = text === '' ? null
    : methods.map(({ name, module }) => name.toLowerCase().includes(text) || module.toLowerCase().includes(text));
  for (const [name, choices] of [['side', sideChoices], ['group', GROUPS]]) {
    choices.forEach(([id], place) => byId(name).children[place].setAttribute('aria-pressed', id === asked[name]));
  }
  for (const name of ['reverse', 'fold']) byId(name).setAttribute('aria-pressed', asked[name]);
  if (byId('search').value !== asked.search) byId('search').value = asked.search;
  showMatches(text);
  showPath();
  showTable();
  describe(state.chosen < 0 ? state.zoom : state.chosen);
  redraw();
  writeAddress();
}

let isDrawing = false;
function redraw() {
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(() => {
    isDrawing = false;
    drawNow();
  });
}

function drawNow() {
  draw(state);
  document.body.dataset.frames = drawn.length;
}

/** A node by its path: the children's methods, from the outermost. */
function nodeOf(path) {
  let node = 0;
  for (const word of path.split('.').filter((word) => word !== '')) {
    const child = state.view.widest(node, state.sides).find((child) => state.view.method[child] === Number(word));
    if (child === undefined) break;
    node = child;
  }
  return node;
}

function zoomTo(node) {
  asked.zoom = state.view.path(node).slice(1).map((one) => state.view.method[one]).join('.');
  state.chosen = node;
  pane.scrollTop = Math.max(0, (state.view.depth[node] - 2) * ROW);
  show();
}

function showMatches(text) {
  const whole = state.view.width(0, state.sides);
  byId('matches').textContent = text === '' ? ''
    : `${shareText(matchedWeight(state.isMatch, state.sides), whole)} matches`;
}

function showPath() {
  const path = state.view.path(state.zoom);
  byId('path').replaceChildren(...path.map((node, place) => {
    const { name } = methods[state.view.method[node]];
    const crumb = element('button', place === 0 ? 'all' : shortName(name).slice(0, 60), name);
    crumb.disabled = place === path.length - 1;
    crumb.addEventListener('click', () => zoomTo(node));
    return crumb;
  }));
}

/** A frame in words. */
function facts(node) {
  const { view, sides } = state, { name, module, file, line, lastLine, kind } = methods[view.method[node]];
  const lines = [name];
  const width = view.width(node, sides), whole = view.width(0, sides);
  if (given.isDifference) {
    const [before, after] = [view.weight[0][node], view.weight[1][node]];
    const change = 100 * (after - before) / Math.max(view.weight[1][0], 1);
    lines.push(`before ${weightText(before)}, after ${weightText(after)}: ${change < 0 ? '−' : '+'}${Math.abs(change).toFixed(1)} % of all after`);
  }
  const samples = sides.reduce((sum, side) => sum + view.samples[node][side], 0);
  const own = sides.reduce((sum, side) => sum + view.own[side][node], 0);
  lines.push(`${weightText(width)}, ${shareText(width, whole)} of all`
    + (state.zoom > 0 ? `, ${shareText(width, view.width(state.zoom, sides))} of what is shown` : '')
    + `, ${samples.toLocaleString('en')} ${samples === 1 ? 'sample' : 'samples'}`
    + (own > 0 ? `, ${weightText(own)} itself` : ''));
  if (sides.length > 1 && !given.isDifference) {
    lines.push(sides.map((side) => `${given.sides[side].title} ${weightText(view.weight[side][node])}`).join(', '));
  }
  const place = file ? `${file}${line ? `:${line}${lastLine > line ? `–${lastLine}` : ''}` : ''}` : '';
  const origin = [kind < THREAD ? KINDS[kind].title : '', module, place].filter((word) => word !== '').join(' · ');
  if (origin !== '') lines.push(origin);
  return lines;
}

function describe(node) {
  byId('details').replaceChildren(...facts(node).map((line, place) => element(place === 0 ? 'b' : 'span', line)));
}

function showTable() {
  const table = byId('top');
  table.open = asked.top;
  if (!asked.top) return;
  const whole = state.view.width(0, state.sides);
  byId('rows').replaceChildren(...heaviest(state.sides).slice(0, 50).map(({ method, own, total }) => {
    const row = document.createElement('tr');
    for (const weight of [own, total]) {
      row.append(element('td', weightText(weight)), element('td', shareText(weight, whole)));
    }
    const name = element('button', methods[method].name, 'search for it');
    name.addEventListener('click', () => { asked.search = methods[method].name; show(); });
    const cell = document.createElement('td');
    cell.append(name);
    row.append(cell);
    return row;
  }));
}

function hideTip() { byId('tip').hidden = true; }

function showTip(event) {
  const box = canvas.getBoundingClientRect(), tip = byId('tip');
  const frame = frameAt(event.clientX - box.left, event.clientY - box.top);
  canvas.style.cursor = frame && frame.node >= 0 ? 'pointer' : 'default';
  if (!frame || event.pointerType === 'touch') return hideTip();
  const lines = frame.node < 0 ? ['frames too narrow to be seen; zoom in'] : facts(frame.node);
  tip.replaceChildren(...lines.map((line, place) => element(place === 0 ? 'b' : 'span', line)));
  tip.hidden = false;
  const room = document.documentElement;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, room.clientWidth - tip.offsetWidth - 8))}px`;
  const below = event.clientY + 18;
  tip.style.top = `${below + tip.offsetHeight > room.clientHeight ? event.clientY - tip.offsetHeight - 10 : below}px`;
}

/** Moves the choice: to the caller, the widest callee, or a neighbour. */
function move(key) {
  const { view, sides } = state, from = state.chosen < 0 ? state.zoom : state.chosen, parent = view.parent[from];
  const row = parent < 0 ? [0] : view.widest(parent, sides), place = row.indexOf(from);
  const to = { ArrowUp: parent, ArrowDown: view.widest(from, sides)[0], ArrowLeft: row[place - 1], ArrowRight: row[place + 1] }[key];
  if (to === undefined || to < 0) return;
  state.chosen = to;
  const y = view.depth[to] * ROW;
  if (y < pane.scrollTop) pane.scrollTop = y;
  if (y + ROW > pane.scrollTop + pane.clientHeight) pane.scrollTop = y + ROW - pane.clientHeight;
  describe(to);
  redraw();
}

function toggle(name) { asked[name] = !asked[name]; asked.zoom = ''; state.chosen = -1; show(); }

function following(choices, id) { return choices[(choices.findIndex(([one]) => one === id) + 1) % choices.length][0]; }

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === byId('search')) {
    if (event.key === 'Escape') { asked.search = ''; event.target.blur(); show(); }
    if (event.key === 'Enter') event.target.blur();
    return;
  }
  const onButton = event.target instanceof HTMLButtonElement || event.target.tagName === 'SUMMARY';
  if (onButton && (event.key === 'Enter' || event.key === ' ')) return;
  const actions = {
    '/': () => byId('search').focus(),
    Enter: () => zoomTo(state.chosen < 0 ? state.zoom : state.chosen),
    Backspace: () => zoomTo(Math.max(0, state.view.parent[state.zoom])),
    Escape: () => { asked.zoom = ''; asked.search = ''; state.chosen = -1; show(); },
    r: () => toggle('reverse'),
    f: () => toggle('fold'),
    t: () => choose('group', following(GROUPS, asked.group)),
    s: () => choose('side', following(sideChoices, asked.side)),
  };
  for (const key of ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight']) actions[key] = () => move(key);
  if (Object.hasOwn(actions, event.key)) { event.preventDefault(); actions[event.key](); }
}

function choose(name, id) {
  asked[name] = id;
  if (name === 'group') { asked.zoom = ''; state.chosen = -1; }
  show();
}

function prepare() {
  for (const [name, choices] of [['side', sideChoices], ['group', GROUPS]]) {
    byId(name).append(...choices.map(([id, title]) => {
      const button = element('button', title);
      button.addEventListener('click', () => choose(name, id));
      return button;
    }));
  }
  byId('side').hidden = sideChoices.length < 2;
  byId('group').hidden = given.threads.length < 2;
  for (const name of ['reverse', 'fold']) byId(name).addEventListener('click', () => toggle(name));
  byId('reset').addEventListener('click', () => { asked.zoom = ''; asked.search = ''; state.chosen = -1; show(); });
  byId('search').addEventListener('input', (event) => { asked.search = event.target.value; show(); });
  byId('top').addEventListener('toggle', (event) => {
    if (event.target.open !== asked.top) { asked.top = event.target.open; show(); }
  });
  canvas.addEventListener('pointermove', showTip);
  canvas.addEventListener('pointerleave', hideTip);
  canvas.addEventListener('click', (event) => {
    const frame = frameAt(event.offsetX, event.offsetY);
    if (frame && frame.node >= 0) { hideTip(); zoomTo(frame.node); }
  });
  pane.addEventListener('scroll', () => { hideTip(); redraw(); });
  new ResizeObserver(redraw).observe(pane);
  isDark.addEventListener('change', () => show());
  document.addEventListener('keydown', onKey);
  addEventListener('hashchange', () => { readAddress(); show(); });
  const seen = new Set(methods.map(({ kind }) => kind).filter((kind) => kind < THREAD));
  byId('legend').append(...(given.isDifference
    ? [['more', 'more than before'], ['less', 'less than before']]
    : KINDS.filter((_, kind) => seen.has(kind)).map(({ id, title }) => [id, title])
  ).map(([id, title]) => { const entry = element('span', title); entry.className = `kind ${id}`; return entry; }));
  if (sideCount > 1 && !given.isDifference) {
    const entry = element('span', 'strip: not on the CPU');
    entry.className = 'kind strip';
    byId('legend').append(entry);
  }
}

prepare();
readAddress();
show();
// Not with the next frame of the screen: a browser that is busy may take long to have one.
drawNow();
document.body.dataset.ready = '1';
