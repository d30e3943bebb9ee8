// SPDX-License-Identifier: Apache-2.0
// Draws the data of dlc report and dlc graph. Names from files become text nodes, never markup.
'use strict';
const data = JSON.parse(document.getElementById('data').textContent), main = document.getElementById('main');
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colour = run => css(`--c${run % 8}`);
let place = main; // of what is added

function add(to, name, attributes = {}, text) {
  const made = document.createElement(name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  return to.appendChild(made);
}
// In the unit of `like`, the largest of an axis.
function short(x, like = 0) {
  if (x === null || x === undefined || !isFinite(x)) return 'not a number';
  const size = Math.max(Math.abs(x), like);
  if (!x) return '0';
  if (size >= 1e15 || size < 1e-3) return x.toExponential(2).replace(/\.?0*e\+?/, 'e');
  const unit = size >= 1e12 ? [1e12, 'T'] : size >= 1e9 ? [1e9, 'G'] : size >= 1e6 ? [1e6, 'M'] : size >= 1e4 ? [1e3, 'k'] : [1, ''];
  return +(x / unit[0]).toPrecision(4) + unit[1];
}
const powerOf = n => Math.min(4, Math.max(0, Math.floor(Math.log2(n || 1) / 10))), units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
const bytes = n => `${+(n / 1024 ** powerOf(n)).toPrecision(3)} ${units[powerOf(n)]}`;
function duration(s) {
  const two = n => String(Math.floor(n)).padStart(2, '0');
  return s < 60 ? short(+s.toPrecision(3)) + ' s' : s < 3600 ? `${Math.floor(s / 60)}:${two(s % 60)} min` : `${Math.floor(s / 3600)}:${two(s / 60 % 60)} h`;
}
function seconds(s) {
  const size = Math.abs(s), unit = !size || size >= 1 ? [1, 's'] : size >= 1e-3 ? [1e-3, 'ms'] : size >= 1e-6 ? [1e-6, 'µs'] : [1e-9, 'ns'];
  return +(s / unit[0]).toPrecision(4) + ' ' + unit[1];
}
const ms = x => seconds(x / 1e3), percent = x => +(100 * x).toPrecision(4) + ' %';
const formats = {data_wait: seconds, samples_per_second: (x, like) => short(x, like) + '/s'};
const formatOf = key => formats[key] ?? (/(accuracy|top\d+)$/.test(key) ? percent : short);
const titleOf = key => key.replaceAll('_', ' ').replace(/^val /, 'validation ');
const section = title => add(place, 'h2', {}, title);
const least = all => all.reduce((a, b) => Math.min(a, b), Infinity), most = all => all.reduce((a, b) => Math.max(a, b), -Infinity);

// ---- Charts. lines: [{run, x, y, marks}]; marks are x at the foot, where y is missing or a step was skipped.
const charts = [], hidden = new Set();
Chart.defaults.font.family = 'system-ui, sans-serif';
Object.assign(Chart.defaults, {animation: false, responsive: true, maintainAspectRatio: false, normalized: true});
Chart.defaults.plugins.legend.display = false;
Chart.defaults.color = () => css('--soft');
Chart.defaults.borderColor = () => css('--line');

// Of each line what is nearest in x.
function nearest(chart, x) {
  return chart.data.datasets.flatMap((set, datasetIndex) => {
    if (!set.isRead || !chart.isDatasetVisible(datasetIndex) || !set.data.length) return [];
    let low = 0, high = set.data.length - 1;
    while (low < high) { const m = (low + high) >> 1; if (set.data[m].x < x) low = m + 1; else high = m; }
    const index = low && x - set.data[low - 1].x < set.data[low].x - x ? low - 1 : low;
    return [{element: chart.getDatasetMeta(datasetIndex).data[index], datasetIndex, index}];
  });
}
Chart.Interaction.modes.nearestOfEach = (chart, e) => nearest(chart, chart.scales.x.getValueForPixel(e.x));
// Of a line that goes up and down more than the mean around each step does, that mean is drawn over it.
function isNoisy(y) {
  const way = all => all.filter(v => v !== null).reduce(([sum, last], v) => [sum + Math.abs(v - (last ?? v)), v], [0, null])[0];
  return y.length > 100 && new Set(y).size > 9 && way(y) > 3 * way(means(y, aroundOf(y)));
}
const aroundOf = y => Math.ceil(y.length / 60);
function means(y, around) {
  let sum = 0, count = 0;
  const move = (v, by) => { if (v !== null && v !== undefined) { sum += by * v; count += by; } };
  for (let i = 0; i < around; i++) move(y[i], 1);
  return y.map((v, i) => { move(y[i + around], 1); move(y[i - around - 1], -1); return v === null || !count ? null : sum / count; });
}
// Three to six of an axis of powers: of two where all values are, else of ten.
function powers(axis, base) {
  const first = Math.ceil(Math.log(axis.min) / Math.log(base) - 1e-9), last = Math.floor(Math.log(axis.max) / Math.log(base) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first + 1) / 6)), found = [];
  for (let i = first; i <= last; i += step) found.push({value: base ** i});
  if (found.length > 1) axis.ticks = found;
}
function powerText(x, base, format) {
  const power = Math.round(Math.log(x) / Math.log(base));
  return base === 2 && power > 9 ? '2' + [...String(power)].map(d => '⁰¹²³⁴⁵⁶⁷⁸⁹'[d]).join('') : format(x);
}
const cursor = {id: 'cursor', afterDatasetsDraw(chart) {
  const {ctx, chartArea: area, $drag: drag} = chart, at = chart.tooltip?.getActiveElements()[0]?.element?.x;
  ctx.save();
  if (drag) { ctx.fillStyle = css('--c0') + '30'; ctx.fillRect(Math.min(...drag), area.top, Math.abs(drag[1] - drag[0]), area.height); }
  if (at !== undefined) { ctx.fillStyle = css('--soft'); ctx.fillRect(at, area.top, 1, area.height); }
  ctx.restore();
}};
// A range of x by dragging, in all charts of the same quantity along x; a double click shows all again.
function zoom(chart, low, high) {
  for (const c of charts) if (c.$along === chart.$along) { Object.assign(c.options.scales.x, {min: low ?? c.$all[0], max: high ?? c.$all[1]}); c.update(); }
}
function listen(chart, said, read) {
  const canvas = chart.canvas, inside = e => Math.max(chart.chartArea.left, Math.min(chart.chartArea.right, e.offsetX));
  canvas.addEventListener('pointerdown', e => { chart.$drag = [inside(e), inside(e)]; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener('pointermove', e => { if (chart.$drag) { chart.$drag[1] = inside(e); chart.draw(); } });
  canvas.addEventListener('pointercancel', () => { chart.$drag = null; });
  canvas.addEventListener('pointerup', () => {
    const [low, high] = (chart.$drag ?? [0, 0]).sort((a, b) => a - b);
    chart.$drag = null;
    if (high - low > 8) zoom(chart, chart.scales.x.getValueForPixel(low), chart.scales.x.getValueForPixel(high)); else chart.draw();
  });
  canvas.addEventListener('dblclick', () => zoom(chart));
  let at = -1;
  canvas.addEventListener('keydown', e => {
    if (e.key === 'Escape') return zoom(chart);
    const step = {ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -1e9, End: 1e9}[e.key];
    if (step === undefined) return;
    e.preventDefault();
    at = Math.max(0, Math.min(read.length - 1, at + step));
    const found = read[at](chart);
    if (found.length) chart.tooltip.setActiveElements(found, found[0].element);
    chart.draw();
    said.textContent = [...chart.tooltip.title ?? [], ...chart.tooltip.body?.flatMap(b => b.lines) ?? []].join(', ');
  });
}
function panel(to, title, along, config, read) {
  const figure = add(to, 'figure'), head = add(figure, 'figcaption'), plot = add(figure, 'div', {class: 'plot'});
  add(head, 'span', {}, title);
  const said = add(figure, 'div', {class: 'said', 'aria-live': 'polite', hidden: ''});
  const canvas = add(plot, 'canvas', {tabindex: 0, role: 'img', 'aria-label': title + ': arrow keys read values'});
  canvas.addEventListener('focus', () => { said.hidden = false; });
  const chart = new Chart(canvas, config);
  Object.assign(chart, {$along: along, $all: [config.options.scales.x.min, config.options.scales.x.max]});
  charts.push(chart);
  listen(chart, said, read(chart));
  return [head, chart];
}
function chart(to, title, along, lines, format = short) {
  const ys = lines.flatMap(l => l.y).filter(y => y !== null), x = lines.flatMap(l => l.x), dots = Math.max(...lines.map(l => l.x.length)) < 30;
  if (!ys.length) { const figure = add(to, 'figure'); add(figure, 'figcaption', {}, title); add(figure, 'div', {class: 'said'}, 'no numbers'); return; }
  const low = least(ys), high = most(ys), base = ys.every(y => y > 0 && Number.isInteger(Math.log2(y))) ? 2 : 10;
  const noisy = lines.filter(l => isNoisy(l.y)), sets = [];
  for (const line of lines) {
    const of = {run: line.run, label: data.runs[line.run].name, xAxisID: 'x', yAxisID: 'y', borderColor: () => colour(line.run),
      backgroundColor: () => colour(line.run), pointRadius: dots ? 3 : 0, pointHoverRadius: 4, borderWidth: 2, stepped: line.stepped, clip: 6};
    const points = y => line.x.map((x, i) => ({x, y: y[i]}));
    if (noisy.includes(line))
      sets.push({...of, data: points(means(line.y, aroundOf(line.y))), isRead: true, borderWidth: 1.8},
        {...of, data: points(line.y), borderWidth: 1, order: 1, borderColor: () => colour(line.run) + '40'});
    else sets.push({...of, data: points(line.y), isRead: true, fill: line.fill, backgroundColor: () => colour(line.run) + (line.fill ? '30' : '')});
    if (line.marks?.length)
      sets.push({...of, data: line.marks.map(x => ({x, y: 0})), yAxisID: 'foot', showLine: false, pointStyle: 'triangle', pointRadius: 4});
  }
  const label = item => `${data.runs.length > 1 ? item.dataset.label + ': ' : ''}${item.parsed.y === null || isNaN(item.parsed.y) ? 'not a number' : format(item.parsed.y)}`;
  const y = {type: 'linear', ticks: {maxTicksLimit: 6, callback(v) { return this.type === 'linear' ? format(v, this.max) : powerText(v, base, format); }},
    afterBuildTicks: axis => { if (axis.type === 'logarithmic') powers(axis, base); }, afterFit: axis => { axis.width = Math.max(axis.width, 52); },
    grid: {drawBorder: false}};
  const [head, made] = panel(to, title, along, {type: 'line', data: {datasets: sets}, plugins: [cursor], options: {
    parsing: false, interaction: {mode: 'nearestOfEach', intersect: false},
    scales: {x: {type: 'linear', min: least(x) < most(x) / 50 || least(x) === most(x) ? 0 : least(x), max: most(x), title: {display: true, text: along, padding: 0},
      ticks: {maxTicksLimit: 7, maxRotation: 0, precision: 0, includeBounds: false, callback(v) { return short(v, this.max); }}, grid: {display: false}}, y, foot: {axis: 'y', display: false, min: -.04, max: 1}},
    plugins: {tooltip: {callbacks: {title: items => items.length ? `${along} ${items[0].parsed.x}` : '', label}}}}},
  () => [...new Set(x)].sort((a, b) => a - b).map(v => c => nearest(c, v)));
  if (low <= 0 || low === high || lines[0].fill) return;
  const button = add(head, 'button', {type: 'button', title: 'logarithmic axis'}, 'log');
  const set = on => { made.options.scales.y.type = on ? 'logarithmic' : 'linear'; button.setAttribute('aria-pressed', on); made.update(); };
  button.onclick = () => set(button.getAttribute('aria-pressed') !== 'true');
  set(high / low >= 1000 || (base === 2 && !dots && high > 2));
}

// ---- Curves: the loss, then metrics, then the rest by what changed; averages behind what they are of.
const rests = ['lr', 'loss_scale', 'found_inf', 'skipped', 'samples_per_second', 'data_wait', 'grad_norm'];
function curves(part, title, along) {
  const keys = [...new Set(data.runs.flatMap(r => Object.keys(r[part])))].filter(k => !['step', 'epoch'].includes(k));
  const linesOf = key => data.runs.map((r, run) => ({run, x: r[part].step, y: r[part][key], marks: r[part].step?.filter((x, i) => { const y = r[part][key] ?? []; return y[i] === null || (key === 'loss_scale' && y[i] < y[i - 1]); })})).filter(l => l.y);
  const moves = key => Math.max(...linesOf(key).map(l => { const y = l.y.filter(v => v !== null); return l.marks.length ? 1e9 : (most(y) - least(y)) / (most(y.map(Math.abs)) || 1); }));
  const rank = key => (key.startsWith('ema') ? 2 : 0) + (key.endsWith('loss') ? 0 : rests.includes(key) ? 4 : 1);
  const still = keys.filter(k => rests.includes(k) && !(moves(k) > 0));
  const shown = keys.filter(k => !still.includes(k)).map(k => [k, rank(k), rank(k) > 3 ? -moves(k) : 0]);
  if (!keys.length) return false;
  section(title);
  if (part === 'steps') add(place, 'p', {class: 'said'}, 'Drag over a chart to zoom; a double click shows all again.');
  const box = add(place, 'div', {class: 'charts'});
  for (const [key] of shown.sort((a, b) => a[1] - b[1] || a[2] - b[2] || (a[0] < b[0] ? -1 : 1))) chart(box, titleOf(key) + (linesOf(key).some(l => l.marks?.length) ? key === 'loss_scale' ? ' (▲ skipped)' : ' (▲ not a number)' : ''), along, linesOf(key), formatOf(key));
  const values = key => [...new Set(linesOf(key).flatMap(l => l.y.slice(0, 1)))].map(formatOf(key)).join(', ');
  if (still.length) add(place, 'p', {class: 'said'}, 'Did not change: ' + still.map(k => `${titleOf(k)} ${values(k)}`).join('; '));
  return true;
}
function table(head, rows, numbers = []) {
  const made = add(add(place, 'div', {class: 'wide', tabindex: 0}), 'table'), top = add(add(made, 'thead'), 'tr'), body = add(made, 'tbody');
  head.forEach(h => { const th = add(top, 'th', {scope: 'col'}); if (h.run !== undefined) add(th, 'i', {style: `background:var(--c${h.run % 8})`}); breakable(th, h.name ?? h); });
  for (const row of rows) {
    const tr = add(body, 'tr');
    row.forEach((cell, i) => {
      const td = add(tr, 'td', numbers.includes(i) ? {class: 'n'} : {});
      if (cell && cell.bar !== undefined) add(td, 'div', {class: 'bar', style: `width:calc(min(12rem, 18vw) * ${Math.max(0, Math.min(100, cell.bar)) / 100})`});
      else breakable(td, String(cell));
    });
  }
}
// Long names break behind these.
function breakable(to, text) { text.split(/(?<=[_\/])/).forEach((part, i) => { if (i) add(to, 'wbr'); to.append(part); }); }
// What each run came to, and what they were told to do differently.
function summary() {
  const all = data.runs, row = (name, of) => { const cells = all.map(of); return cells.some(c => c !== undefined) ? [[name, ...cells.map(c => c ?? '-')]] : []; };
  const last = (r, key) => r.steps[key]?.findLast(v => v !== null);
  const middle = r => { const v = (r.steps.samples_per_second ?? []).filter(x => x !== null).sort((a, b) => a - b); return v.length ? short(v[v.length >> 1]) : undefined; };
  const best = [...new Set(all.flatMap(r => r.best.map(b => b.name)))];
  table(['', ...all.map((r, run) => ({name: r.name, run}))], [
    ...row('model', r => r.model), ...row('steps', r => String(r.done)),
    ...best.flatMap(name => row(`best ${titleOf(name)}`, r => { const b = r.best.find(b => b.name === name); return b && `${formatOf(name)(b.value)} (epoch ${b.epoch})`; })),
    ...row('last training loss', r => last(r, 'loss') === undefined ? undefined : short(last(r, 'loss'))),
    ...row('time', r => r.seconds === null ? undefined : duration(r.seconds)), ...row('samples per second', middle),
    ...differences().map(key => [key, ...all.map(r => r.config[key] ?? '-')])]);
}
function differences() {
  const keys = [...new Set(data.runs.flatMap(r => Object.keys(r.config)))];
  return keys.filter(k => k !== 'artifact' && new Set(data.runs.map(r => r.config[k])).size > 1);
}
function legend() {
  if (data.runs.length < 2) return;
  const bar = add(main, 'div', {class: 'runs', role: 'group', 'aria-label': 'runs that are shown'});
  data.runs.forEach((r, run) => {
    const button = add(bar, 'button', {type: 'button', 'aria-pressed': true, style: `--of:var(--c${run % 8})`}, r.name);
    button.onclick = () => {
      if (!hidden.delete(run)) hidden.add(run);
      button.setAttribute('aria-pressed', !hidden.has(run));
      for (const c of charts) { c.data.datasets.forEach((set, i) => { if (set.run !== undefined) c.setDatasetVisibility(i, !hidden.has(set.run)); }); c.update(); }
    };
  });
}

// ---- A picture of numbers, a cell each. of: {rows, columns, at, say, width, height, text}; at: 0 to 1, null.
function heat(figure, of) {
  const said = add(figure, 'div', {class: 'said', 'aria-live': 'polite'}), wide = add(figure, 'div', {class: 'wide heat', tabindex: 0});
  const names = add(wide, 'div'), canvas = add(wide, 'canvas', {role: 'img', 'aria-label': 'arrow keys read values'});
  of.rows.forEach(n => add(names, 'p', {title: n, style: `height:${of.height}px;line-height:${of.height}px`}, n));
  const scale = devicePixelRatio || 1, top = of.text ? 16 : 0, W = of.columns.length * of.width, H = top + of.rows.length * of.height;
  names.style.paddingTop = `${top}px`;
  Object.assign(canvas, {width: W * scale, height: H * scale});
  canvas.style.cssText = `width:${W}px;height:${H}px`;
  let row = 0, column = of.columns.length - 1;
  const read = () => { said.textContent = of.say(row, column); };
  const draw = () => {
    const c = canvas.getContext('2d');
    c.setTransform(scale, 0, 0, scale, 0, top * scale);
    c.clearRect(0, -top, W, H);
    Object.assign(c, {font: '11px system-ui, sans-serif', textAlign: 'center', textBaseline: 'middle', fillStyle: css('--soft')});
    if (top) of.columns.forEach((name, k) => c.fillText(name, (k + .5) * of.width, -8, of.width - 2));
    of.rows.forEach((_, i) => of.columns.forEach((_, k) => {
      const at = of.at(i, k);
      c.fillStyle = at === null ? '#d00' : `hsl(${265 - 215 * at} ${60 + 25 * at}% ${22 + 43 * at}%)`;
      c.fillRect(k * of.width, i * of.height, of.width - (of.width > 6), of.height - 1);
      if (!of.text) return;
      c.fillStyle = at > .6 ? '#000' : '#fff';
      c.fillText(of.text(i, k), (k + .5) * of.width, (i + .5) * of.height);
    }));
    read();
  };
  canvas.addEventListener('pointermove', e => {
    column = Math.max(0, Math.min(of.columns.length - 1, Math.floor(e.offsetX / of.width)));
    row = Math.max(0, Math.min(of.rows.length - 1, Math.floor((e.offsetY - top) / of.height)));
    read();
  });
  wide.addEventListener('keydown', e => {
    const m = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[e.key];
    if (!m) return;
    e.preventDefault();
    row = Math.max(0, Math.min(of.rows.length - 1, row + m[0]));
    column = Math.max(0, Math.min(of.columns.length - 1, column + m[1]));
    read();
  });
  draw();
  return draw;
}
// A row a parameter, a column a step; colours by the logarithm of the size, from the least to the most.
function statistics(run) {
  const s = run.stats;
  if (!s) return;
  section('Parameters over steps');
  const figure = add(place, 'figure', {class: 'fit'}), pick = add(add(figure, 'label', {}, 'what '), 'select');
  for (const key of Object.keys(s.values)) add(pick, 'option', {}, key);
  pick.value = s.values.gradient_norm ? 'gradient_norm' : pick.value;
  const value = (i, k) => (s.values[pick.value][i] || [])[k], size = v => v === null || v === undefined ? null : v === 0 ? -Infinity : Math.log10(Math.abs(v));
  let low, high;
  const range = () => { const all = s.values[pick.value].flat().map(size).filter(v => v !== null && isFinite(v)); low = least(all); high = most(all); };
  range();
  const draw = heat(figure, {rows: s.names, columns: s.steps, width: Math.max(2, Math.min(24, Math.floor(700 / s.steps.length))), height: 15,
    at: (i, k) => { const x = size(value(i, k)); return x === null ? null : Math.max(0, Math.min(1, (x - low) / ((high - low) || 1))); },
    say: (i, k) => `${s.names[i]}, step ${s.steps[k]}: ${pick.value} ${short(value(i, k))} (dark ${short(10 ** low)}, bright ${short(10 ** high)}, red not a number)`});
  pick.onchange = () => { range(); draw(); };
}
// A row a label, a column what the model said; colours by the share of the row.
function confusion(run) {
  const m = run.confusion;
  if (!m) return;
  section('Confusion matrix of the last validation');
  const known = (run.config.classes ?? '').slice(1, -1).split(', '), names = m.map((_, i) => known.length === m.length ? known[i] : String(i)), sums = m.map(row => row.reduce((a, b) => a + b, 0));
  const width = Math.max(2, Math.min(40, Math.floor(640 / m.length)));
  const figure = add(place, 'figure', {class: 'fit'});
  add(figure, 'figcaption', {}, 'rows: labels; columns: outputs');
  heat(figure, {rows: names, columns: names, width, height: Math.max(10, Math.min(28, width)), at: (i, k) => sums[i] ? m[i][k] / sums[i] : 0,
    text: m.length <= 20 ? (i, k) => short(m[i][k]) : null,
    say: (i, k) => `label ${names[i]}, output ${names[k]}: ${m[i][k]} of ${sums[i]}${sums[i] ? ` (${percent(m[i][k] / sums[i])})` : ''}`});
}
function profile(run) {
  if (!run.profile.length) return;
  section('Time by node');
  const all = run.profile.reduce((s, p) => s + p.ms, 0);
  table(['nodes', 'command', 'ms', '%', ''], run.profile.slice(0, 40).map(p => [p.nodes, p.command, p.ms.toFixed(3),
    (100 * p.ms / all).toFixed(1), {bar: 100 * p.ms / run.profile[0].ms}]), [2, 3]);
}
// Pictures with the model's class, the wrong ones first.
function predictions(run) {
  const p = run.predictions;
  if (!p) return;
  section('Predictions');
  add(place, 'p', {class: 'said'}, (p.wrong === null ? `${p.samples} pictures` : `${p.wrong} of ${p.samples} pictures get another class than theirs`) +
    `; ${p.shown.length} are shown, ${p.wrong ? 'the surest of the wrong ones first' : 'the least sure first'}.`);
  const all = add(place, 'div', {class: 'pictures'});
  for (const s of p.shown) {
    const figure = add(all, 'figure'), isWrong = s.label !== null && s.label !== s.class;
    add(figure, 'img', {src: s.picture, alt: s.name, title: s.name});
    add(figure, 'div', {class: isWrong ? 'wrong' : ''}, `${s.class} ${percent(+s.probability.toPrecision(3))}`);
    if (isWrong) add(figure, 'div', {class: 'said'}, `is ${s.label}`);
  }
}
// What each rank does in a step; those that others wait for come first.
function ranks(run) {
  const r = run.ranks;
  if (!r) return;
  section('Ranks');
  add(place, 'p', {class: 'said'}, `Steps up to ${short(r.step)}: ` + (r.slow || 'no rank waits long for another.'));
  const work = i => r.data_wait[i] + r.computes[i], cell = x => x === null ? '-' : (1e3 * x).toPrecision(3);
  table(['rank', 'host', 'ms a step', 'waits for samples', 'computes', 'waits for ranks'], r.hosts.map((host, i) => [i, host, ...[r.seconds, r.data_wait, r.computes,
    r.blocked].map(all => cell(all[i]))]).sort((a, b) => work(b[0]) - work(a[0])).slice(0, 40), [0, 2, 3, 4, 5]);
}
// What a step does when, on average: commands one after another, collectives from their start until they are waited for.
function timeline(run) {
  const all = run.profile.filter(p => typeof p.begin === 'number');
  if (!all.length) return;
  const waited = (run.steps.data_wait || []).filter(x => x !== null), wait = waited.length ? 1e3 * waited.reduce((s, x) => s + x, 0) / waited.length : 0;
  const bars = {data: [], compute: [], waiting: [], communication: []}, bar = (lane, begin, ms, name) => bars[lane].push({x: [begin, begin + ms], y: lane, name});
  if (wait > 0) bar('data', -wait, wait, 'waits for samples');
  for (const p of all) {
    bar(p.kind === 'wait' ? 'waiting' : 'compute', p.begin, p.ms, `${p.command}${p.nodes ? ' of ' + p.nodes : ''}`);
    if (!['all_reduce', 'reduce_scatter', 'all_gather'].includes(p.kind)) continue;
    const last = all.find(q => q.kind === 'wait' && q.bucket === p.bucket && q.begin >= p.begin);
    if (last) bar('communication', p.begin, last.begin + last.ms - p.begin, `${p.command}, bucket ${p.bucket}`);
  }
  section('Timeline of a step');
  const lanes = Object.keys(bars).filter(k => bars[k].length);
  const sets = lanes.map(lane => ({data: bars[lane].sort((a, b) => a.x[0] - b.x[0]), grouped: false, barPercentage: .9, categoryPercentage: .9, minBarLength: 1,
    backgroundColor: () => colour({data: 4, compute: 0, waiting: 1, communication: 2}[lane]), borderColor: () => css('--card'), borderWidth: .4, borderSkipped: false}));
  const text = item => item.raw.name, title = items => items.length ? `${ms(items[0].raw.x[0])}, for ${ms(items[0].raw.x[1] - items[0].raw.x[0])}` : '';
  const [, made] = panel(place, 'commands by time', 'ms of ' + run.name, {type: 'bar', data: {labels: lanes, datasets: sets}, plugins: [cursor], options: {indexAxis: 'y',
    interaction: {mode: 'nearest', intersect: true}, scales: {x: {min: -wait, max: most(all.map(p => p.begin + p.ms)), ticks: {maxTicksLimit: 6, includeBounds: false, callback: ms}},
      y: {grid: {display: false}}}, plugins: {tooltip: {callbacks: {title, label: text}}}}},
  c => sets.flatMap((set, datasetIndex) => set.data.map((_, index) => () => [{datasetIndex, index, element: c.getDatasetMeta(datasetIndex).data[index]}])));
  made.canvas.parentNode.style.height = `${lanes.length * 2.6 + 2.5}rem`;
}
function tuning(run) {
  if (!run.tuning.length) return;
  section('Algorithms of libraries');
  table(['commands', 'op', 'engine', 'ms when measured', 'workspace'], run.tuning.slice(0, 200).map(t => [t.commands, t.op,
    t.engine ?? "the library's first choice", t.ms ? short(t.ms) : '-', t.workspace === null ? '-' : bytes(t.workspace)]), [3, 4]);
}
function memory(run, number) {
  if (!run.memory) return;
  section('Memory over a step');
  const power = powerOf(most(run.memory.live)), y = run.memory.live.map(n => n / 1024 ** power);
  chart(place, 'scratch memory by command', 'command of ' + run.name, [{run: number, x: run.memory.at, y, fill: true, stepped: true}], x => `${short(x)} ${units[power]}`);
  table(['largest at the peak', 'bytes', ''], run.memory.tensors.map(t => [t.name, bytes(t.bytes), {bar: 100 * t.bytes / run.memory.tensors[0].bytes}]), [1]);
}
// Graphviz's drawings, one for each depth of modules.
function graph(run) {
  if (!run.graph) return;
  section('Graph');
  const bar = add(place, 'p'), {drawings, said} = run.graph;
  add(place, 'p', {class: 'said'}, drawings.length ? `Dragging moves, the wheel with Ctrl zooms. ${said}` : said);
  if (!drawings.length) return;
  const pick = add(add(bar, 'label', {}, 'levels of modules that are open '), 'select');
  drawings.forEach(d => add(pick, 'option', {value: d.depth}, d.depth));
  pick.value = drawings.at(-1).depth;
  const box = add(place, 'div', {id: 'graph'});
  let svg, view;
  const apply = () => svg.setAttribute('viewBox', view.join(' '));
  const zoom = (by, x = .5, y = .5) => { view = [view[0] + view[2] * (1 - by) * x, view[1] + view[3] * (1 - by) * y, view[2] * by, view[3] * by]; apply(); };
  const move = (x, y) => { view[0] += x * view[2]; view[1] += y * view[3]; apply(); };
  const keys = {ArrowLeft: () => move(-.1, 0), ArrowRight: () => move(.1, 0), ArrowUp: () => move(0, -.1), ArrowDown: () => move(0, .1), '+': () => zoom(.8), '-': () => zoom(1.25), 0: show};
  for (const [text, key, label] of [['+', '+', 'zoom in'], ['−', '-', 'zoom out'], ['all', '0', 'show all']])
    add(bar, 'button', {type: 'button', 'aria-label': label}, text).onclick = keys[key];
  function show() {
    const drawn = new DOMParser().parseFromString(drawings.find(d => String(d.depth) === pick.value).svg, 'image/svg+xml').documentElement;
    svg = document.importNode(drawn, true);
    for (const [key, value] of Object.entries({tabindex: 0, role: 'img', 'aria-label': 'the model as a graph: arrows move, + and - zoom, 0 shows all'})) svg.setAttribute(key, value);
    view = svg.getAttribute('viewBox').split(/[ ,]+/).map(Number);
    box.replaceChildren(svg);
  }
  pick.onchange = show;
  box.addEventListener('keydown', e => { if (keys[e.key]) { e.preventDefault(); keys[e.key](); } });
  box.addEventListener('wheel', e => { if (!e.ctrlKey) return; e.preventDefault(); const b = box.getBoundingClientRect(); zoom(e.deltaY > 0 ? 1.15 : .87, (e.clientX - b.left) / b.width, (e.clientY - b.top) / b.height); }, {passive: false});
  box.addEventListener('pointermove', e => { if (!e.buttons) return; const b = box.getBoundingClientRect(), s = Math.max(view[2] / b.width, view[3] / b.height); view[0] -= e.movementX * s; view[1] -= e.movementY * s; apply(); });
  show();
}
if (data.runs[0].steps) {
  summary();
  legend();
  if (!(curves('steps', 'Training', 'step') | curves('epochs', 'Validation', 'step'))) add(main, 'p', {}, 'No step has been done yet.');
}
data.runs.forEach((run, number) => {
  for (const all of [run.profile ?? [], run.tuning ?? []]) all.sort((a, b) => (b.ms ?? -1) - (a.ms ?? -1));
  if (!run.steps) document.querySelector('h1').textContent = run.name;
  const parts = run.steps ? [predictions, confusion, statistics, ranks, timeline, profile, tuning, memory, graph] : [graph];
  place = main;
  if (data.runs.length > 1) {
    const box = add(main, 'details', number ? {} : {open: ''});
    add(box, 'summary', {}, run.name);
    place = box;
  }
  for (const part of parts) part(run, number);
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => charts.forEach(c => c.update()));
