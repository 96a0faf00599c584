// What is looked at: rows laid over each other as a tree of frames, from the outermost inwards, or from the innermost
// outwards ("callers"). Nodes are numbers; node 0 is everything. A view knows every side, so that switching sides
// builds nothing.

const sideCount = given.sides.length;

/** Frames that are folded into the one that called them. */
const isFoldable = (method) => methods[method].kind !== OWN;

class View {
  constructor(group, isReversed, isFolded) {
    this.isReversed = isReversed;
    this.isFolded = isFolded;
    this.method = []; this.parent = []; this.depth = []; this.samples = [];
    this.weight = given.sides.map(() => []);
    this.own = given.sides.map(() => []);
    this.children = new Map();
    this.add(-1, everything);
    const groups = this.groups(group);
    if (isReversed) this.reversed(groups); else this.forward(groups);
  }

  add(parent, method) {
    const node = this.method.length;
    this.method.push(method); this.parent.push(parent);
    this.depth.push(parent < 0 ? 0 : this.depth[parent] + 1);
    this.samples.push(given.sides.map(() => 0));
    for (let side = 0; side < sideCount; side++) { this.weight[side].push(0); this.own[side].push(0); }
    return node;
  }

  /** Rows by the node that they hang under: everything, a process, a thread, or threads of one name. */
  groups(group) {
    const known = new Map();
    const under = (parent, method) => {
      const key = `${parent} ${method}`;
      if (!known.has(key)) known.set(key, this.add(parent, method));
      return known.get(key);
    };
    const groups = new Map();
    for (const row of rows) {
      let node = 0;
      if (processLabels.length > 1) node = under(node, processLabels[given.threads[row.thread][0]]);
      if (group === 'thread') node = under(node, threadLabels[row.thread]);
      if (group === 'name') node = under(node, nameLabels[row.thread]);
      if (!groups.has(node)) groups.set(node, []);
      groups.get(node).push(row);
    }
    return groups;
  }

  forward(groups) {
    const placed = new Int32Array(callerOf.length), stamp = new Int32Array(callerOf.length).fill(-1);
    const found = new Map();
    const child = (parent, method) => {
      // Stacks of the data are merged already; only folding makes new twins.
      if (!this.isFolded && method !== noStack) return this.add(parent, method);
      const key = parent * methods.length + method;
      let node = found.get(key);
      if (node === undefined) found.set(key, node = this.add(parent, method));
      return node;
    };
    for (const [top, list] of groups) {
      for (const row of list) {
        const path = [];
        let next = row.node;
        while (next >= 0 && stamp[next] !== top) { path.push(next); next = callerOf[next]; }
        let node = next >= 0 ? placed[next] : top;
        for (let place = path.length - 1; place >= 0; place--) {
          const at = path[place], caller = callerOf[at];
          const isHidden = this.isFolded && caller >= 0 && isFoldable(methodOf[at]) && isFoldable(methodOf[caller]);
          if (!isHidden) node = child(node, methodOf[at]);
          placed[at] = node; stamp[at] = top;
        }
        if (row.node < 0) node = child(top, noStack);
        this.weigh(node, row);
      }
    }
    this.height = new Int32Array(this.method.length);
    for (let node = this.method.length - 1; node > 0; node--) {
      const parent = this.parent[node];
      for (let side = 0; side < sideCount; side++) {
        this.weight[side][parent] += this.weight[side][node];
        this.samples[parent][side] += this.samples[node][side];
      }
      this.height[parent] = Math.max(this.height[parent], this.height[node] + 1);
    }
    const first = new Int32Array(this.method.length).fill(-1), following = new Int32Array(this.method.length);
    for (let node = this.method.length - 1; node > 0; node--) {
      following[node] = first[this.parent[node]];
      first[this.parent[node]] = node;
    }
    this.expand = (node) => {
      const list = [];
      for (let next = first[node]; next >= 0; next = following[next]) list.push(next);
      return list;
    };
  }

  weigh(node, row) {
    this.weight[row.side][node] += row.weight;
    this.own[row.side][node] += row.weight;
    this.samples[node][row.side] += row.samples;
  }

  // Callers are looked up when they are looked at: all of them together would be as many as all frames of all stacks.
  reversed(groups) {
    const outwards = new Map();
    // Where a stack goes on behind the frames that are folded into one.
    const outermost = (at) => {
      if (!this.isFolded) return at;
      while (callerOf[at] >= 0 && isFoldable(methodOf[at]) && isFoldable(methodOf[callerOf[at]])) at = callerOf[at];
      return at;
    };
    const grown = (parent, list) => {
      const found = new Map();
      for (const [at, row] of list) {
        const method = at < 0 ? noStack : methodOf[at];
        let node = found.get(method);
        if (node === undefined) {
          found.set(method, node = this.add(parent, method));
          outwards.set(node, []);
        }
        this.weight[row.side][node] += row.weight;
        this.samples[node][row.side] += row.samples;
        const caller = at < 0 ? -1 : callerOf[at];
        if (caller >= 0) outwards.get(node).push([outermost(caller), row]);
      }
      return [...found.values()];
    };
    const grouped = new Map();
    for (const [top, list] of groups) {
      for (const row of list) {
        for (let node = top; node >= 0; node = this.parent[node]) {
          this.weight[row.side][node] += row.weight;
          this.samples[node][row.side] += row.samples;
        }
      }
      grouped.set(top, list.map((row) => [row.node < 0 ? -1 : outermost(row.node), row]));
    }
    const tops = this.method.map((_, node) => node).slice(1);
    this.expand = (node) => {
      const list = tops.filter((top) => this.parent[top] === node);
      for (const from of [grouped, outwards]) {
        if (from.has(node)) { list.push(...grown(node, from.get(node))); from.delete(node); }
      }
      return list;
    };
  }

  /** How wide a node is on the chosen sides. */
  width(node, sides) {
    let sum = 0;
    for (const side of sides) sum += this.weight[side][node];
    return sum;
  }

  /** The children of a node that have any width, the widest first. */
  widest(node, sides) {
    if (this.sortedFor !== sides) { this.sortedFor = sides; this.sorted = new Map(); }
    let wide = this.sorted.get(node);
    if (wide !== undefined) return wide;
    let list = this.children.get(node);
    if (list === undefined) this.children.set(node, list = this.expand(node));
    wide = list.filter((child) => this.width(child, sides) > 0)
      .sort((one, other) => this.width(other, sides) - this.width(one, sides)
        || (methods[this.method[one]].name < methods[this.method[other]].name ? -1 : 1));
    this.sorted.set(node, wide);
    return wide;
  }

  /** From everything down to a node. */
  path(node) {
    const path = [];
    for (; node >= 0; node = this.parent[node]) path.unshift(node);
    return path;
  }

  /** How many rows of frames there are below a node. */
  rowsBelow(node) { return this.isReversed ? given.deepest + 2 : this.height[node]; }
}

/** How much of the chosen sides is on stacks with a frame that matches. */
function matchedWeight(isMatch, sides) {
  const within = new Uint8Array(callerOf.length);
  for (let node = 0; node < within.length; node++) {
    within[node] = isMatch[methodOf[node]] || (callerOf[node] >= 0 ? within[callerOf[node]] : 0);
  }
  let sum = 0;
  for (const row of rows) {
    const found = row.node >= 0 ? within[row.node] : isMatch[noStack];
    if (found && sides.includes(row.side)) sum += row.weight;
  }
  return sum;
}

/** Methods by what they did themselves on the chosen sides, and with all they called; what called itself counts once. */
function heaviest(sides) {
  const own = new Float64Array(methods.length), total = new Float64Array(methods.length);
  const below = new Float64Array(callerOf.length);
  for (const row of rows) {
    if (!sides.includes(row.side)) continue;
    own[row.node < 0 ? noStack : methodOf[row.node]] += row.weight;
    if (row.node < 0) total[noStack] += row.weight; else below[row.node] += row.weight;
  }
  for (let node = below.length - 1; node >= 0; node--) {
    const caller = callerOf[node];
    if (caller >= 0) below[caller] += below[node];
    if (below[node] === 0) continue;
    let outer = caller;
    while (outer >= 0 && methodOf[outer] !== methodOf[node]) outer = callerOf[outer];
    if (outer < 0) total[methodOf[node]] += below[node];
  }
  return methods.map((_, method) => ({ method, own: own[method], total: total[method] }))
    .filter((row) => row.total > 0).sort((one, other) => other.own - one.own || other.total - one.total);
}
