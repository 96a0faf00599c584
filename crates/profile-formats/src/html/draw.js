// The picture: only what is wide enough to be seen, and only the rows that are on the screen.

const canvas = document.getElementById('picture'), pane = document.getElementById('pane');
const spacer = document.getElementById('spacer'), pen = canvas.getContext('2d');
const ROW = matchMedia('(pointer: coarse)').matches ? 24 : 19;
const NARROWEST = 1;
const isDark = matchMedia('(prefers-color-scheme: dark)');

/** What is on the screen: { node, x, width, row }; a node of -1 stands for frames too narrow to be seen. */
let drawn = [];

const hues = new Map();
function baseColour(method) {
  const key = method * 2 + (isDark.matches ? 1 : 0);
  let colour = hues.get(key);
  if (colour === undefined) {
    const { kind, name } = methods[method], { hue, tint } = KINDS[kind];
    let hash = 7;
    for (let at = 0; at < name.length; at++) hash = (hash * 31 + name.charCodeAt(at)) | 0;
    const turn = (hash >>> 3) % 17 - 8, shade = (hash >>> 9) % 9;
    const light = isDark.matches ? 30 + shade : 68 + shade;
    hues.set(key, colour = `hsl(${hue + turn} ${tint}% ${light}%)`);
  }
  return colour;
}

/** Red for more than before, blue for less; the stronger, the larger the change. */
function changeColour(view, node) {
  const [before, after] = [view.weight[0][node], view.weight[1][node]];
  const change = (after - before) / Math.max(view.weight[0][0], view.weight[1][0], 1);
  const strength = Math.min(1, Math.sqrt(Math.abs(change) * 4));
  const light = isDark.matches ? 24 + 16 * strength : 92 - 34 * strength;
  return `hsl(${change >= 0 ? 6 : 216} ${Math.round(82 * strength)}% ${light}%)`;
}

function draw(state) {
  const { view, sides, zoom, isMatch, chosen } = state;
  const wide = pane.clientWidth, high = pane.clientHeight, ratio = devicePixelRatio || 1;
  const path = view.path(zoom);
  spacer.style.height = `${(path.length + view.rowsBelow(zoom)) * ROW + 4}px`;
  if (canvas.width !== Math.round(wide * ratio) || canvas.height !== Math.round(high * ratio)) {
    canvas.width = Math.round(wide * ratio); canvas.height = Math.round(high * ratio);
    canvas.style.width = `${wide}px`; canvas.style.height = `${high}px`;
  }
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, wide, high);
  pen.font = `${ROW > 20 ? 13 : 12}px system-ui, sans-serif`;
  pen.textBaseline = 'middle';
  const top = pane.scrollTop, last = Math.ceil((top + high) / ROW);
  drawn = [];
  path.slice(0, -1).forEach((node, row) => drawn.push({ node, x: 0, width: wide, row, isAround: true }));
  const waiting = [{ node: zoom, x: 0, width: wide, row: path.length - 1 }];
  while (waiting.length > 0) {
    const frame = waiting.pop();
    drawn.push(frame);
    if (frame.row >= last) continue;
    const whole = view.width(frame.node, sides);
    let x = frame.x;
    const children = view.widest(frame.node, sides);
    for (const child of children) {
      const width = frame.width * view.width(child, sides) / whole;
      if (width < NARROWEST) {
        // All that follow are narrower still.
        const rest = Math.min(frame.x + frame.width - x, children.length);
        if (rest >= 1) drawn.push({ node: -1, x, width: rest, row: frame.row + 1 });
        break;
      }
      waiting.push({ node: child, x, width, row: frame.row + 1 });
      x += width;
    }
  }
  const ink = isDark.matches ? '#eef1f6' : '#14181f', paper = isDark.matches ? '#11151c' : '#ffffff';
  for (const frame of drawn) {
    const y = frame.row * ROW - top;
    if (y + ROW < 0 || y > high) continue;
    paint(frame, y, state, ink, paper, isMatch, chosen);
  }
}

function paint(frame, y, { view, sides }, ink, paper, isMatch, chosen) {
  const { node, x, width, isAround } = frame, gap = width > 3 ? 1 : 0;
  if (node < 0) {
    pen.fillStyle = isDark.matches ? '#39424f' : '#d5dae1';
    pen.fillRect(x, y, width, ROW - 1);
    return;
  }
  const method = view.method[node];
  const found = isMatch !== null && isMatch[method];
  pen.globalAlpha = isAround ? 0.55 : isMatch !== null && !found ? 0.45 : 1;
  pen.fillStyle = found ? (isDark.matches ? '#a2319b' : '#ee82e4')
    : given.isDifference && node > 0 && methods[method].kind < THREAD ? changeColour(view, node) : baseColour(method);
  pen.fillRect(x, y, width - gap, ROW - 1);
  if (sides.length > 1 && !given.isDifference) {
    // A strip for the part of the time that was not on the CPU.
    const off = view.width(node, sides.filter((side) => given.sides[side].id !== 'on-cpu'));
    pen.fillStyle = isDark.matches ? '#7fb2ff' : '#2458c5';
    pen.fillRect(x, y + ROW - 4, (width - gap) * off / view.width(node, sides), 3);
  }
  if (node === chosen) {
    pen.strokeStyle = ink; pen.lineWidth = 2;
    pen.strokeRect(x + 1, y + 1, Math.max(width - 2 - gap, 1), ROW - 3);
  }
  const letters = Math.floor((width - 6) / 6.4);
  if (letters >= 3) {
    const { name } = methods[method];
    let text = name.length <= letters ? name : shortName(name);
    if (text.length > letters) text = `${text.slice(0, letters - 1)}…`;
    pen.fillStyle = ink;
    pen.fillText(text, x + 3, y + (ROW - 1) / 2, width - 5);
  }
  pen.globalAlpha = 1;
}

/** The frame at a place of the picture. */
function frameAt(x, y) {
  const row = Math.floor((y + pane.scrollTop) / ROW);
  return drawn.find((frame) => frame.row === row && x >= frame.x && x < frame.x + frame.width);
}
