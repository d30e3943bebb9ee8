// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/report/Page.h"

namespace dlc::tool {
namespace {

// Names from files reach the page as text nodes alone, never as markup.
const char kReportHead[] = R"HTML(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>dlc report</title>
<style>
:root { --back: #fff; --ink: #1b1f24; --soft: #667; --line: #d5d9e0; --card: #f6f7f9;
  --c0: #0b66c2; --c1: #c2410c; --c2: #15803d; --c3: #7e22ce; --c4: #a16207; --c5: #be185d;
  --half: #bfe3c8; --single: #cfe0f7; --whole: #e6e0f2; --edge: #8891a0; }
@media (prefers-color-scheme: dark) { :root { --back: #14171b; --ink: #e6e9ee; --soft: #9aa3b0; --line: #353b45; --card: #1c2127;
  --c0: #6db3ff; --c1: #ff9d66; --c2: #6fdc8c; --c3: #cfa3ff; --c4: #f0c75e; --c5: #ff8fc4;
  --half: #23563a; --single: #264a75; --whole: #453a63; --edge: #77808e; } }
body { margin: 0 auto; max-width: 76rem; padding: 1rem; background: var(--back); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); gap: 1rem; }
figure { margin: 0; padding: .6rem; background: var(--card); border: 1px solid var(--line); border-radius: 6px; min-width: 0; }
figcaption { font-weight: 600; overflow-wrap: anywhere; } .said { color: var(--soft); min-height: 1.4em; font-size: .85rem; overflow-wrap: anywhere; }
svg { display: block; width: 100%; } svg text { fill: var(--soft); font-size: 11px; } :focus-visible { outline: 2px solid var(--c0); }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .88rem; }
th, td { text-align: left; padding: .2rem .6rem; border-bottom: 1px solid var(--line); } td { overflow-wrap: anywhere; min-width: 4rem; }
td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; min-width: 0; } @media (max-width: 40rem) { th, td { padding: .2rem .3rem; } }
.bar { height: .7rem; background: var(--c0); min-width: 1px; } .key i { display: inline-block; width: 1em; height: 1em; margin: 0 .3em 0 1em; vertical-align: -.1em; border: 1px solid var(--edge); }
button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: 4px; min-width: 2.2rem; min-height: 2.2rem; }
#graph svg { height: 70vh; touch-action: none; border: 1px solid var(--line); } #graph text { fill: var(--ink); }
#heat { display: flex; } #heat .names { flex: none; max-width: 45%; overflow: hidden; } #heat .names div { font-size: 10px; line-height: 15px; height: 15px; white-space: nowrap; padding-right: .5em; overflow: hidden; text-overflow: ellipsis; }
canvas { flex: 1; min-width: 8rem; align-self: flex-start; } select { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); min-height: 2.2rem; }
</style></head><body><h1>dlc report</h1><main id="main"></main>
<script id="data" type="application/json">)HTML";

const char kReportTail[] = R"HTML(</script><script>
'use strict';
const data = JSON.parse(document.getElementById('data').textContent), main = document.getElementById('main');
const NS = 'http://www.w3.org/2000/svg', colour = i => `var(--c${i % 6})`;
function add(to, name, attributes = {}, text) {
  const svg = to.namespaceURI === NS || name === 'svg', made = svg ? document.createElementNS(NS, name) : document.createElement(name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  return to.appendChild(made);
}
function short(x) {
  if (x === null || x === undefined) return 'not a number';
  const size = Math.abs(x);
  if (Number.isInteger(x) && size < 1e6) return String(x);
  return size >= 1e6 || size < 1e-3 ? x.toExponential(2) : String(+x.toPrecision(4));
}
function bytes(n) { const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']; let i = 0; while (n >= 1024 && i < 4) { n /= 1024; i++; } return short(n) + ' ' + units[i]; }
function section(title) { add(main, 'h2', {}, title); return main; }

// lines: [{name, x, y}]; missing y are gaps with a mark at the foot.
// Where steps differ by more than they move over the run, the mean around each is drawn over them.
function isNoisy(y, range) {
  let way = 0; for (let i = 1; i < y.length; i++) if (y[i] !== null && y[i - 1] !== null) way += Math.abs(y[i] - y[i - 1]);
  return y.length > 100 && way > .05 * y.length * range;
}
function means(y, around) {
  let sum = 0, count = 0; const move = (v, by) => { if (v !== null && v !== undefined) { sum += by * v; count += by; } };
  for (let i = 0; i < around; i++) move(y[i], 1);
  return y.map((v, i) => { move(y[i + around], 1); move(y[i - around - 1], -1); return v === null || !count ? null : sum / count; });
}
function chart(to, title, lines, format = short, mark = []) {
  const figure = add(to, 'figure'), W = 440, H = 210, L = 66, R = 8, T = 8, B = 22;
  add(figure, 'figcaption', {}, title);
  const svg = add(figure, 'svg', {viewBox: `0 0 ${W} ${H}`, tabindex: 0, role: 'img', 'aria-label': title + ': left and right arrows read values'});
  const said = add(figure, 'div', {class: 'said', 'aria-live': 'polite'});
  const xs = lines.flatMap(l => l.x), ys = lines.flatMap(l => l.y).filter(y => y !== null);
  if (!ys.length) { add(svg, 'text', {x: W / 2, y: H / 2, 'text-anchor': 'middle'}, 'no numbers'); return; }
  let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
  for (const x of xs) { x0 = Math.min(x0, x); x1 = Math.max(x1, x); }
  for (const y of ys) { y0 = Math.min(y0, y); y1 = Math.max(y1, y); }
  if (y0 > 0 && y0 < y1 / 20) y0 = 0;
  if (y0 === y1) { y0 -= Math.abs(y0) / 10 || 1; y1 += Math.abs(y1) / 10 || 1; }
  const X = x => L + (x - x0) / ((x1 - x0) || 1) * (W - L - R), Y = y => H - B - (y - y0) / (y1 - y0) * (H - T - B);
  for (let i = 0; i <= 4; i++) {
    const y = y0 + (y1 - y0) * i / 4;
    add(svg, 'line', {x1: L, x2: W - R, y1: Y(y), y2: Y(y), stroke: 'var(--line)'});
    add(svg, 'text', {x: L - 5, y: Y(y) + 4, 'text-anchor': 'end'}, format(y));
  }
  add(svg, 'text', {x: L, y: H - 6}, short(x0)); add(svg, 'text', {x: W - R, y: H - 6, 'text-anchor': 'end'}, short(x1));
  const draw = (line, i, ys, width, opacity) => {
    let path = '', open = false;
    line.x.forEach((x, k) => { if (ys[k] === null) { open = false; return; } path += `${open ? 'L' : 'M'}${X(x).toFixed(1)} ${Y(ys[k]).toFixed(1)}`; open = true; });
    add(svg, 'path', {d: path, fill: 'none', stroke: colour(line.c ?? i), 'stroke-width': width, 'stroke-opacity': opacity, 'stroke-linejoin': 'round'});
  };
  const noisy = lines.filter(l => isNoisy(l.y, y1 - y0)), around = Math.max(0, ...noisy.map(l => Math.ceil(l.y.length / 60)));
  if (noisy.length) figure.firstChild.textContent += ', and its mean around';
  lines.forEach((line, i) => {
    line.x.forEach((x, k) => { if (line.y[k] === null) add(svg, 'line', {x1: X(x), x2: X(x), y1: H - B, y2: H - B - 8, stroke: 'var(--c1)', 'stroke-width': 2}); });
    draw(line, i, line.y, noisy.includes(line) ? 1 : 1.6, noisy.includes(line) ? .3 : 1);
    if (line.x.length === 1 && line.y[0] !== null) add(svg, 'circle', {cx: X(line.x[0]), cy: Y(line.y[0]), r: 3, fill: colour(line.c ?? i)});
  });
  lines.forEach((line, i) => { if (noisy.includes(line)) draw(line, i, means(line.y, around), 2, 1); });
  for (const x of mark) add(svg, 'circle', {cx: X(x), cy: H - B, r: 2.5, fill: 'var(--c1)'});
  if (lines.length > 1 || lines[0].name) {
    const key = add(figure, 'div', {class: 'key'});
    lines.forEach((l, i) => { const s = add(key, 'span'); add(s, 'i', {style: `background:${colour(l.c ?? i)}`}); s.append(l.name); });
  }
  const cursor = add(svg, 'line', {y1: T, y2: H - B, stroke: 'var(--soft)', visibility: 'hidden'});
  const long = lines.reduce((a, b) => a.x.length >= b.x.length ? a : b); let at = long.x.length - 1;
  function show() {
    const x = long.x[at]; cursor.setAttribute('x1', X(x)); cursor.setAttribute('x2', X(x)); cursor.setAttribute('visibility', 'visible');
    said.textContent = `${short(x)}: ` + lines.map(l => {
      let low = 0, high = l.x.length - 1; while (low < high) { const m = (low + high) >> 1; if (l.x[m] < x) low = m + 1; else high = m; }
      return (l.name ? l.name + ' ' : '') + (l.y[low] === null ? 'not a number' : format(l.y[low])); }).join(', ');
  }
  svg.addEventListener('pointermove', e => {
    const box = svg.getBoundingClientRect(), x = x0 + ((e.clientX - box.left) / box.width * W - L) / (W - L - R) * (x1 - x0);
    let best = 0; long.x.forEach((v, i) => { if (Math.abs(v - x) < Math.abs(long.x[best] - x)) best = i; }); at = best; show();
  });
  svg.addEventListener('keydown', e => {
    const step = {ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -1e9, End: 1e9}[e.key];
    if (step === undefined) return; e.preventDefault(); at = Math.max(0, Math.min(long.x.length - 1, at + step)); show();
  });
}

function runs() {
  const names = new Set(), later = new Set();
  for (const r of data.runs) { Object.keys(r.steps).forEach(k => names.add(k)); Object.keys(r.epochs).forEach(k => later.add(k)); }
  names.delete('step'); later.delete('step'); later.delete('epoch');
  const many = data.runs.length > 1;
  // The loss first, then by name; averages behind what they are of.
  const order = (a, b) => (a.startsWith('ema') - b.startsWith('ema')) || (b.endsWith('loss') - a.endsWith('loss')) || (a < b ? -1 : 1);
  const lines = (part, key) => data.runs.map((r, c) => [r, c]).filter(([r]) => r[part][key]).map(([r, c]) => ({name: many ? r.name : '', c, x: r[part].step, y: r[part][key]}));
  if (names.size) {
    const box = add(section('Steps'), 'div', {class: 'charts'});
    for (const key of [...names].sort(order)) chart(box, key.replaceAll('_', ' '), lines('steps', key), short, key === 'loss_scale' ? data.runs.flatMap(r => r.skipped) : []);
  }
  if (later.size) { const box = add(section('Validation'), 'div', {class: 'charts'}); for (const key of [...later].sort(order)) chart(box, key.replaceAll('_', ' '), lines('epochs', key)); }
  if (!names.size && !later.size) add(main, 'p', {}, 'No step has been done yet.');
}
function table(head, rows, numbers = []) {
  const made = add(add(main, 'div', {class: 'wide', tabindex: 0}), 'table'), top = add(made, 'tr');
  head.forEach(h => add(top, 'th', {scope: 'col'}, h));
  for (const row of rows) { const tr = add(made, 'tr'); row.forEach((cell, i) => {
    const td = add(tr, 'td', numbers.includes(i) ? {class: 'n'} : {});
    if (cell && cell.bar !== undefined) add(td, 'div', {class: 'bar', style: `width:calc(min(12rem, 18vw) * ${Math.max(0, Math.min(100, cell.bar)) / 100})`}); else breakable(td, String(cell)); }); }
}
// Long names break behind these.
function breakable(to, text) { text.split(/(?<=[_\/])/).forEach((part, i) => { if (i) add(to, 'wbr'); to.append(part); }); }
// What has no node is labelled by the model's file.
function nodesOf(label) { return [...new Set(label.split('; ').map(n => n.endsWith('.onnx') ? 'added by dlc' : n))].join('; '); }
function differences() {
  if (data.runs.length < 2) return;
  const keys = [...new Set(data.runs.flatMap(r => Object.keys(r.config)))].filter(k => new Set(data.runs.map(r => r.config[k])).size > 1);
  section('Settings that differ');
  if (keys.length) table(['setting', ...data.runs.map(r => r.name)], keys.map(k => [k, ...data.runs.map(r => r.config[k] ?? '-')])); else add(main, 'p', {}, 'None.');
}
function profile(run) {
  if (!run.profile.length) return;
  section(`Time by node: ${run.name}`); const all = run.profile.reduce((s, p) => s + p.ms, 0);
  table(['nodes', 'command', 'ms', '%', ''], run.profile.slice(0, 40).map(p => [nodesOf(p.nodes), p.command, p.ms.toFixed(3), (100 * p.ms / all).toFixed(1), {bar: 100 * p.ms / run.profile[0].ms}]), [2, 3]);
}
// A row a parameter, a column a step; colours by the logarithm of the size, from the least to the most.
function statistics(run) {
  const s = run.stats; if (!s) return;
  section(`Parameters over steps: ${run.name}`);
  const bar = add(main, 'p'), label = add(bar, 'label', {}, 'what '), pick = add(label, 'select');
  for (const key of Object.keys(s.values)) add(pick, 'option', {}, key);
  pick.value = s.values.gradient_norm ? 'gradient_norm' : pick.value;
  const figure = add(main, 'figure'), said = add(figure, 'div', {class: 'said', 'aria-live': 'polite'}), wide = add(figure, 'div', {class: 'wide', id: 'heat'});
  const H = 15, canvas = document.createElement('canvas'), names = add(wide, 'div', {class: 'names'});
  canvas.width = Math.max(300, s.steps.length * 4); canvas.height = H * s.names.length; canvas.style.height = `${canvas.height}px`; canvas.tabIndex = 0; canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', 'parameters over steps: arrow keys read values'); wide.append(canvas);
  s.names.forEach(n => add(names, 'div', {title: n}, n));
  let row = 0, column = s.steps.length - 1;
  const read = () => { const v = (s.values[pick.value][row] || [])[column]; said.textContent = `${s.names[row]}, step ${s.steps[column]}: ${pick.value} ${short(v)}`; };
  function draw() {
    const rows = s.values[pick.value], size = v => v === null || v === undefined ? null : v === 0 ? -Infinity : Math.log10(Math.abs(v)), c = canvas.getContext('2d');
    const all = rows.flat().map(size).filter(v => v !== null && isFinite(v)), low = all.reduce((a, b) => Math.min(a, b), Infinity), high = all.reduce((a, b) => Math.max(a, b), -Infinity);
    c.clearRect(0, 0, canvas.width, canvas.height);
    rows.forEach((values, i) => values.forEach((v, k) => {
      const x = size(v), at = x === null ? null : Math.max(0, (x - low) / ((high - low) || 1)), w = canvas.width / s.steps.length;
      c.fillStyle = at === null ? '#d00' : `hsl(${250 - 200 * at} 75% ${25 + 45 * at}%)`; c.fillRect(k * w, i * H, Math.ceil(w), H - 1);
    }));
    read(); said.textContent += all.length ? ` (dark ${short(10 ** low)}, bright ${short(10 ** high)}, red not a number)` : '';
  }
  pick.onchange = draw;
  canvas.addEventListener('pointermove', e => { const b = canvas.getBoundingClientRect(); column = Math.max(0, Math.min(s.steps.length - 1, Math.floor((e.clientX - b.left) / b.width * s.steps.length))); row = Math.max(0, Math.min(s.names.length - 1, Math.floor((e.clientY - b.top) / b.height * s.names.length))); read(); });
  canvas.addEventListener('keydown', e => { const m = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[e.key]; if (!m) return; e.preventDefault(); row = Math.max(0, Math.min(s.names.length - 1, row + m[0])); column = Math.max(0, Math.min(s.steps.length - 1, column + m[1])); read(); });
  draw();
}
// What a step does when, on average: commands one after another, collectives from their start until they are waited for.
function timeline(run) {
  const all = run.profile.filter(p => typeof p.begin === 'number'); if (!all.length) return;
  const end = Math.max(...all.map(p => p.begin + p.ms)), waited = (run.steps.data_wait || []).filter(x => x !== null);
  const wait = waited.length ? 1e3 * waited.reduce((s, x) => s + x, 0) / waited.length : 0;
  const lanes = [['data', []], ['compute', []], ['waiting', []], ['communication', []]], by = name => lanes.find(l => l[0] === name)[1];
  if (wait > 0) by('data').push({begin: -wait, ms: wait, name: 'waits for samples'});
  for (const p of all) {
    const what = {begin: p.begin, ms: p.ms, name: `${p.command}${p.nodes ? ' of ' + nodesOf(p.nodes) : ''}`};
    by(p.kind === 'wait' ? 'waiting' : 'compute').push(what);
    if (!['all_reduce', 'reduce_scatter', 'all_gather'].includes(p.kind)) continue;
    const last = all.find(q => q.kind === 'wait' && q.bucket === p.bucket && q.begin >= p.begin);
    if (last) by('communication').push({begin: p.begin, ms: last.begin + last.ms - p.begin, name: `${p.command}, bucket ${p.bucket}`});
  }
  section(`Timeline of a step: ${run.name}`);
  const used = lanes.filter(l => l[1].length), L = 110, W = 1000, H = 34, first = -wait, X = t => L + (t - first) / ((end - first) || 1) * (W - L - 8);
  const figure = add(main, 'figure'), said = add(figure, 'div', {class: 'said', 'aria-live': 'polite'}, 'left and right arrows read commands');
  const wide = add(figure, 'div', {class: 'wide'}), svg = add(wide, 'svg', {viewBox: `0 0 ${W} ${used.length * H + 24}`, tabindex: 0, role: 'img', style: 'min-width:40rem', 'aria-label': `timeline of a step of ${run.name}: left and right arrows read commands`});
  const shown = [];
  used.forEach(([name, items], row) => {
    add(svg, 'text', {x: L - 8, y: row * H + 21, 'text-anchor': 'end'}, name);
    add(svg, 'line', {x1: L, x2: W - 8, y1: row * H + H - 2, y2: row * H + H - 2, stroke: 'var(--line)'});
    const fill = {data: 4, compute: 0, waiting: 1, communication: 2}[name];
    for (const item of items.sort((a, b) => a.begin - b.begin)) {
      const box = add(svg, 'rect', {x: X(item.begin), y: row * H + 6, width: Math.max(.7, X(item.begin + item.ms) - X(item.begin)), height: H - 12, fill: colour(fill), stroke: 'var(--card)', 'stroke-width': .4});
      const text = `${item.begin.toFixed(3)} ms, for ${item.ms.toFixed(3)} ms: ${item.name}`; shown.push([box, text]);
      box.addEventListener('pointerenter', () => { said.textContent = text; });
    }
  });
  for (let i = 0; i <= 4; i++) add(svg, 'text', {x: X(first + (end - first) * i / 4), y: used.length * H + 16, 'text-anchor': ['start', 'middle', 'middle', 'middle', 'end'][i]}, short(+(first + (end - first) * i / 4).toPrecision(3)) + ' ms');
  let at = -1;
  svg.addEventListener('keydown', e => {
    const step = {ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9}[e.key]; if (step === undefined) return; e.preventDefault();
    if (at >= 0) shown[at][0].setAttribute('stroke', 'var(--card)');
    at = Math.max(0, Math.min(shown.length - 1, at + step)); shown[at][0].setAttribute('stroke', 'var(--ink)'); said.textContent = shown[at][1];
  });
}
function tuning(run) {
  if (!run.tuning.length) return;
  section(`Algorithms of libraries: ${run.name}`);
  table(['commands', 'op', 'engine', 'ms when measured', 'workspace'], run.tuning.slice(0, 200).map(t => [t.commands, t.op, t.engine ?? "the library's first choice", t.ms ? short(t.ms) : '-', t.workspace === null ? '-' : bytes(t.workspace)]), [3, 4]);
}
function memory(run) {
  if (!run.memory) return;
  section(`Memory over a step: ${run.name}`);
  chart(add(main, 'div', {class: 'charts'}), 'scratch memory by command', [{name: '', x: run.memory.at, y: run.memory.live}], bytes);
  table(['largest at the peak', 'bytes', ''], run.memory.tensors.map(t => [t.name, bytes(t.bytes), {bar: 100 * t.bytes / run.memory.tensors[0].bytes}]), [1]);
}
function graph(run) {
  const nodes = run.graph.nodes; if (!nodes.length) return;
  section(`Graph: ${run.name}`);
  const bar = add(main, 'p', {class: 'key'});
  const buttons = [['+', () => zoom(.8)], ['−', () => zoom(1.25)], ['fit', fit]].map(([t, f]) => { const b = add(bar, 'button', {type: 'button', 'aria-label': {'+': 'zoom in', '−': 'zoom out', fit: 'show all'}[t]}, t); b.onclick = f; return b; });
  for (const [name, fill] of [['half precision', 'half'], ['f32', 'single'], ['whole numbers', 'whole']]) { add(bar, 'i', {style: `background:var(--${fill})`}); bar.append(name); }
  add(bar, 'i', {style: 'border:2px solid var(--c1)'}); bar.append('by a library'); add(bar, 'i', {style: 'border:2px dashed var(--edge)'}); bar.append('generated');
  const said = add(main, 'div', {class: 'said', 'aria-live': 'polite'}), box = add(main, 'div', {id: 'graph'}), svg = add(box, 'svg', {tabindex: 0, preserveAspectRatio: 'xMidYMin meet', role: 'img', 'aria-label': 'model as a graph: arrows move, + and - zoom'});
  const depth = nodes.map(() => 0), width = []; let deepest = 0;
  for (const [a, b] of run.graph.edges) depth[b] = Math.max(depth[b], depth[a] + 1); // producers come first
  nodes.forEach((n, i) => { n.x = (width[depth[i]] = (width[depth[i]] ?? -1) + 1) * 190; n.y = depth[i] * 74; deepest = Math.max(deepest, n.y); });
  const across = 190 * Math.max(...width.filter(w => w !== undefined)) + 170; let view;
  for (const [a, b] of run.graph.edges) add(svg, 'line', {x1: nodes[a].x + 85, y1: nodes[a].y + 44, x2: nodes[b].x + 85, y2: nodes[b].y, stroke: 'var(--edge)'});
  for (const n of nodes) {
    const g = add(svg, 'g'), fill = /16/.test(n.type) ? 'half' : /^[fF]/.test(n.type) ? 'single' : 'whole'; add(g, 'title', {}, `${n.name}\n${n.kind} ${n.type} ${n.shape}`);
    add(g, 'rect', {x: n.x, y: n.y, width: 170, height: 44, rx: 5, fill: `var(--${fill})`, stroke: n.library ? 'var(--c1)' : 'var(--edge)', 'stroke-width': n.library ? 2 : 1, 'stroke-dasharray': n.library ? '' : '4 2'});
    add(g, 'text', {x: n.x + 8, y: n.y + 18}, n.kind + ' ' + n.type); add(g, 'text', {x: n.x + 8, y: n.y + 35}, n.name.length > 25 ? n.name.slice(0, 24) + '…' : n.name);
    g.addEventListener('pointerenter', () => { said.textContent = `${n.name}: ${n.kind}, ${n.type} ${n.shape}`; });
  }
  function apply() { svg.setAttribute('viewBox', view.join(' ')); }
  function fit() { view = [-10, -10, across + 20, Math.min(deepest + 64, Math.max(500, across))]; apply(); }
  function zoom(by, x = .5, y = .5) { view = [view[0] + view[2] * (1 - by) * x, view[1] + view[3] * (1 - by) * y, view[2] * by, view[3] * by]; apply(); }
  svg.addEventListener('keydown', e => {
    const move = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[e.key];
    if (move) { view[0] += move[0] * view[2] / 10; view[1] += move[1] * view[3] / 10; apply(); } else if (e.key === '+' || e.key === '=') zoom(.8); else if (e.key === '-') zoom(1.25); else if (e.key === '0') fit(); else return; e.preventDefault();
  });
  svg.addEventListener('wheel', e => { if (!e.ctrlKey) return; e.preventDefault(); const b = svg.getBoundingClientRect(); zoom(e.deltaY > 0 ? 1.15 : .87, (e.clientX - b.left) / b.width, (e.clientY - b.top) / b.height); }, {passive: false});
  svg.addEventListener('pointermove', e => { if (!e.buttons) return; const b = svg.getBoundingClientRect(), s = Math.max(view[2] / b.width, view[3] / b.height); view[0] -= e.movementX * s; view[1] -= e.movementY * s; apply(); });
  fit();
}
if (data.runs[0].steps) {
  table(['run', 'steps', 'model'], data.runs.map(r => [r.name, r.done, r.model]), [1]);
  runs(); differences();
}
for (const run of data.runs) { if (run.steps) { statistics(run); timeline(run); profile(run); tuning(run); memory(run); } graph(run); }
</script></body></html>
)HTML";

// Nothing in it can end the element that it stands in.
std::string asElement(const Json &data) {
  std::string text;
  for (const char c : dumpJson(data, -1, true))
    text += c == '<' ? "\\u003c" : std::string(1, c);
  return text;
}

} // namespace

std::string reportPage(const Json &data) {
  return kReportHead + asElement(data) + kReportTail;
}

} // namespace dlc::tool
