"use strict";
(() => {
const D = JSON.parse(document.getElementById("data").textContent);
const R = D.result, E = D.evidence, G = R.groups;
const redraws = [];
const $ = id => document.getElementById(id);

// Elements: el("td", {class: "n"}, "text", child). Text is always text.
const el = (tag, attrs, ...children) => {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attrs || {})) {
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (v !== null && v !== undefined && v !== false) e.setAttribute(k, v === true ? "" : v);
  }
  for (const c of children.flat(Infinity)) if (c !== null && c !== undefined) e.append(c instanceof Node ? c : String(c));
  return e;
};
const NS = "http://www.w3.org/2000/svg";
const svg = (tag, attrs, ...children) => {
  const e = document.createElementNS(NS, tag);
  for (const [k, v] of Object.entries(attrs || {})) e.setAttribute(k, v);
  for (const c of children.flat(Infinity)) if (c !== null && c !== "") e.append(c instanceof Node ? c : String(c));
  return e;
};
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const sci = x => x === null || x === undefined ? "infinite" : x === 0 ? "0" : Math.abs(x) >= 0.01 && Math.abs(x) < 1000 ? String(+x.toPrecision(3)) : x.toExponential(2).replace("e+", "e");
const pct = x => (100 * x).toFixed(x < 0.0995 ? 1 : 0) + " %";
const secs = s => s >= 1 ? s.toPrecision(3) + " s" : s >= 1e-3 ? (s * 1e3).toPrecision(3) + " ms" : s >= 1e-6 ? (s * 1e6).toPrecision(3) + " µs" : (s * 1e9).toPrecision(3) + " ns";
const many = n => n >= 1e12 ? (n / 1e12).toPrecision(3) + " T" : n >= 1e9 ? (n / 1e9).toPrecision(3) + " G" : n >= 1e6 ? (n / 1e6).toPrecision(3) + " M" : n >= 1e4 ? (n / 1e3).toPrecision(3) + " k" : String(Math.round(n));
const colour = f => f === "f64" ? "--f64" : f === "f32" ? "--f32" : f === "f16" ? "--f16" : f === "bf16" ? "--bf16" : /^dw/.test(f) ? "--pair" : "--mix";
const fmt = f => el("span", {class: "fmt", style: `color:var(${colour(f)})`}, f);
const table = (heads, rows, wide) => el("div", {class: "scroll"}, el("table", {class: wide === true ? "wide" : wide || null},
  el("thead", null, el("tr", null, heads.map(h => el("th", {class: h.startsWith("#") ? "n" : null, scope: "col"}, h.replace(/^#/, ""))))),
  el("tbody", null, rows.map(r => r.tagName ? r : el("tr", null, r.map((c, i) => el("td", {class: heads[i].startsWith("#") ? "n" : null}, c)))))));
const title = (id, text, about) => [el("h2", {id: id + "-h"}, text), about ? el("p", {class: "about"}, about) : null];
// What is said of times, errors and other inputs comes from the claims, which no record is missing for.
const C = D.claims, measured = C.time_kind === "measured", timed = C.time_kind || "without a recorded measurement";
const settingOf = (g, level) => G[g].formats[level] ?? "?";

// ---------------------------------------------------------------- verdict
const why = k => {
  if (!k) return "";
  switch (k.kind) {
    case "error": return k.error === null ? `lower: ${k.rejection ? k.rejection.replaceAll("_", " ") : "not within the tolerance"}` : `lower: error ${sci(k.error)}, the limit is ${sci(R.criteria.tolerance)}`;
    case "slower": return `lower: time ${k.time.toFixed(3)} instead of ${k.chosen.toFixed(3)}, ${k.measured ? "measured" : "predicted"}`;
    case "failed": return "lower: " + k.why.split("\n")[0];
    case "veto": return "not tried: " + k.why;
    case "validation": return "lower: fails on other inputs";
    default: return "lower: not tried";
  }
};
(() => {
  const s = $("verdict"), sp = R.speedup;
  const name = String(R.workload).split("/").pop();
  $("file").textContent = name;
  const head = R.verdict === "raised" ? `Within the tolerance with ${R.raised ? R.raised.operations : "some"} operations in wider formats; the program itself is not`
    : R.verdict === "tuned" ? `${sp.value.toFixed(2)} times as fast, within the tolerance`
    : R.verdict === "unchanged" ? "Nothing faster stays within the tolerance; the program stays as it is"
    : "The program itself is not within the tolerance";
  const fact = (label, big, cls, ...more) => el("div", {class: "fact"}, el("div", {class: "label"}, label), el("div", {class: "big " + (cls || "")}, big), more.map(m => m === null ? null : el("div", {class: "more"}, m)));
  const tol = R.criteria.tolerance, part = R.error === null ? 1 : Math.max(0, Math.min(1, 1 + Math.log10(Math.max(R.error, tol * 1e-9) / tol) / 9));
  const meter = el("div", {class: "meter" + (R.error === null || R.error > tol ? " over" : ""), role: "img", "aria-label": "error against tolerance, logarithmic"}, el("i", {style: `width:${(100 * part).toFixed(1)}%`}));
  const other = C.other_inputs, worst = R.outputs.flatMap(o => o.worst ? [[o.name, o.worst]] : []).sort((a, b) => b[1].max_rel - a[1].max_rel)[0];
  const energy = R.energy && R.energy.plan && R.energy.program ? fact("Energy of a run", (R.energy.plan.per_run_j / R.energy.program.per_run_j).toFixed(2) + "×", "", `${R.energy.plan.per_run_j.toPrecision(3)} J instead of ${R.energy.program.per_run_j.toPrecision(3)} J, measured over ${R.energy.plan.window_s.toFixed(1)} s`)
    : R.energy && R.energy.estimated ? fact("Energy of the operations", R.energy.estimated.toFixed(2) + "×", "", el("span", {class: "tag predicted"}, "estimated"), R.energy.by) : null;
  s.append(el("p", {class: "headline"}, head),
    el("div", {class: "verdict"},
      fact("Speed-up", sp.value.toFixed(2) + "×", R.verdict === "tuned" ? "good" : "",
        el("span", {class: "tag " + (C.time_kind || "")}, timed),
        C.interval ? `95 % interval ${C.interval[0].toFixed(2)} to ${C.interval[1].toFixed(2)}` : null, sp.by),
      fact("Error: " + R.criteria.metric, C.error, R.error !== null && R.error <= tol ? "good" : "bad", R.error === null ? null : meter,
        `tolerance ${sci(tol)}; the program itself ${C.own_error}`, C.compared,
        worst && R.verdict === "tuned" ? `worst element ${worst[0]}[${worst[1].index}]: ${worst[1].got} for ${worst[1].reference}` : null),
      other ? fact("Other inputs", other.head, other.good ? "good" : "bad", ...other.more) : null,
      energy,
      C.raised.length ? fact("Raised", String(C.raised.length), "", ...C.raised.slice(0, 8)) : null,
      C.rewritten.length ? fact("Expressions rewritten", String(C.rewritten.length), "", ...C.rewritten.slice(0, 8)) : null,
      C.made.length ? fact("Calls by made functions", String(C.made.length), "", ...C.made.slice(0, 8)) : null,
      fact("Errors measured on", R.device.startsWith("CPU") ? "CPU" : "GPU", "", R.device, C.time_kind === "predicted" ? `times are predicted for profile ${R.profile}` : null)),
    R.warnings.length ? el("ul", {class: "warnings", "aria-label": "Warnings"}, R.warnings.map(w => el("li", null, w))) : "");
})();

// ---------------------------------------------------------------- time against error
const points = D.evaluations.filter(e => e.phase !== "baseline" && e.levels.length === G.length && e.time !== null && e.error !== null && !e.failure);
if (R.floor.error !== null) points.unshift({phase: "program", levels: G.map(() => 0), error: R.floor.error, time: 1, wall_s: 0});
const failed = D.evaluations.filter(e => e.failure);
const chosenKey = R.assignment.join(" ");
(() => {
  const s = $("front");
  const canvas = el("canvas", {tabindex: 0, role: "img", style: "height:380px", "aria-label": `${points.length} plans by time and error. Left and right arrow keys go through them, Enter keeps one for comparison.`});
  const tip = el("div", {class: "tip", role: "status"});
  const compare = el("div", {class: "compare", "aria-live": "polite"});
  const kinds = [["program", "the program as it is", "--ink"], ["search", "search (" + R.strategy + ")", "--accent"], ["probe", "tried to explain the result", "--mix"], ["final", "measured once more", "--f16"]];
  const has = new Set(points.map(p => p.phase));
  s.append(...title("front", "Time against error", `Every plan that ran. Left is faster, down is more accurate; times are over the program's, ${timed}. The line joins plans that none is better than in both. Click two points to compare them.`),
    el("div", {class: "legend"}, kinds.filter(k => has.has(k[0])).map(k => el("span", null, el("i", {style: `background:var(${k[2]})`}), k[1])), el("span", null, "◯ chosen"), failed.length ? el("span", null, `${failed.length} more failed to run`) : null),
    el("div", {class: "plot"}, canvas, tip), compare,
    el("details", null, el("summary", null, "As a table"), table(["#time", "#error", "within", "what for", "plan"], R.front.map(p => [p.time.toFixed(3), sci(p.error), p.error <= R.criteria.tolerance ? "yes" : "no", p.assignment.join(" ") === chosenKey ? "chosen" : "front", lowered(p.assignment)]))));
  const least = Math.min(R.criteria.tolerance, ...points.map(p => p.error).filter(e => e > 0));
  const most = Math.max(R.criteria.tolerance, ...points.map(p => p.error));
  const lo = Math.floor(Math.log10(least || 1e-17)) - 0.5, hi = Math.ceil(Math.log10(most || 1)) + 0.3;
  const tmin = Math.min(...points.map(p => p.time), 1), tmax = Math.max(...points.map(p => p.time), 1);
  const pad = 0.06 * (tmax - tmin || 0.2), x0 = Math.max(0, tmin - pad), x1 = tmax + pad;
  const M = {l: 62, r: 14, t: 12, b: 40};
  let W = 800, H = 380, at = -1, pinned = [];
  const X = t => M.l + (W - M.l - M.r) * (t - x0) / (x1 - x0);
  const Y = e => M.t + (H - M.t - M.b) * (hi - Math.max(lo, Math.log10(e || 1e-300))) / (hi - lo);
  const draw = () => {
    const ratio = window.devicePixelRatio || 1;
    W = canvas.clientWidth || 800; H = canvas.clientHeight || 380;
    canvas.width = W * ratio; canvas.height = H * ratio;
    const c = canvas.getContext("2d");
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, W, H);
    c.font = "12px system-ui, sans-serif"; c.strokeStyle = css("--line"); c.fillStyle = css("--soft"); c.lineWidth = 1;
    const step = Math.max(1, Math.ceil((hi - lo) / 8));
    c.textAlign = "right"; c.textBaseline = "middle";
    for (let d = Math.ceil(lo); d <= hi; d += step) { const y = Y(10 ** d); c.beginPath(); c.moveTo(M.l, y); c.lineTo(W - M.r, y); c.stroke(); c.fillText("1e" + d, M.l - 8, y); }
    c.textAlign = "center"; c.textBaseline = "top";
    const n = Math.max(2, Math.min(8, Math.floor((W - M.l) / 90)));
    const raw = (x1 - x0) / n, mag = 10 ** Math.floor(Math.log10(raw)), q = [1, 2, 2.5, 5, 10].find(k => k * mag >= raw) * mag;
    for (let t = Math.ceil(x0 / q) * q; t <= x1; t += q) { const x = X(t); c.beginPath(); c.moveTo(x, M.t); c.lineTo(x, H - M.b); c.stroke(); c.fillText(String(+t.toPrecision(4)), x, H - M.b + 5); }
    c.fillText("time over the program's", M.l + (W - M.l - M.r) / 2, H - 17);
    c.save(); c.translate(12, M.t + (H - M.t - M.b) / 2); c.rotate(-Math.PI / 2); c.fillText("error", 0, -6); c.restore();
    c.strokeStyle = css("--bad"); c.setLineDash([5, 4]); c.beginPath(); c.moveTo(M.l, Y(R.criteria.tolerance)); c.lineTo(W - M.r, Y(R.criteria.tolerance)); c.stroke(); c.setLineDash([]);
    c.fillStyle = css("--bad"); c.textAlign = "right"; c.textBaseline = "bottom"; c.fillText("tolerance " + sci(R.criteria.tolerance), W - M.r - 4, Y(R.criteria.tolerance) - 3);
    const front = R.front.filter(p => p.error !== null).slice().sort((a, b) => a.time - b.time);
    c.strokeStyle = css("--accent"); c.globalAlpha = 0.6; c.beginPath();
    front.forEach((p, i) => { if (!i) c.moveTo(X(p.time), Y(p.error)); else { c.lineTo(X(p.time), Y(front[i - 1].error)); c.lineTo(X(p.time), Y(p.error)); } });
    c.stroke(); c.globalAlpha = 1;
    const cols = Object.fromEntries(kinds.map(k => [k[0], css(k[2])]));
    const size = points.length > 2000 ? 2 : points.length > 300 ? 3 : 4.5;
    points.forEach((p, i) => {
      c.globalAlpha = p.error <= R.criteria.tolerance ? 1 : 0.55;
      c.fillStyle = cols[p.phase] || cols.search;
      c.beginPath(); c.arc(X(p.time), Y(p.error), i === at ? size + 3 : size, 0, 7); c.fill();
      if (p.levels.join(" ") === chosenKey && p.phase !== "final") { c.globalAlpha = 1; c.strokeStyle = css("--ink"); c.lineWidth = 2; c.beginPath(); c.arc(X(p.time), Y(p.error), size + 5, 0, 7); c.stroke(); c.lineWidth = 1; }
    });
    c.globalAlpha = 1;
    pinned.forEach((i, k) => { const p = points[i]; c.strokeStyle = css("--accent"); c.lineWidth = 2; c.strokeRect(X(p.time) - 9, Y(p.error) - 9, 18, 18); c.fillStyle = css("--accent"); c.textAlign = "left"; c.textBaseline = "bottom"; c.fillText("AB"[k], X(p.time) + 11, Y(p.error) - 6); });
  };
  const show = i => {
    at = i; draw();
    if (i < 0) { tip.style.display = "none"; return; }
    const p = points[i];
    tip.replaceChildren(el("b", null, `time ${p.time.toFixed(3)}, error ${sci(p.error)}`), el("div", null, p.phase === "program" ? "the program as it is" : lowered(p.levels)));
    tip.style.display = "block";
    const x = X(p.time), y = Y(p.error);
    tip.style.left = Math.max(0, Math.min(x + 12, W - tip.offsetWidth - 4)) + "px";
    tip.style.top = (y + 14 + tip.offsetHeight > H ? y - tip.offsetHeight - 10 : y + 14) + "px";
  };
  const nearest = ev => {
    const b = canvas.getBoundingClientRect(), mx = ev.clientX - b.left, my = ev.clientY - b.top;
    let best = -1, d = 400;
    points.forEach((p, i) => { const dx = X(p.time) - mx, dy = Y(p.error) - my, q = dx * dx + dy * dy; if (q < d) { d = q; best = i; } });
    return best;
  };
  const pin = i => {
    if (i < 0) return;
    pinned = pinned.includes(i) ? pinned.filter(k => k !== i) : [...pinned, i].slice(-2);
    draw();
    if (!pinned.length) { compare.replaceChildren(); return; }
    const two = pinned.map(k => points[k]);
    const rows = G.map((g, k) => {
      const set = two.map(p => settingOf(k, p.levels[k]));
      const r = el("tr", {class: set.length === 2 && set[0] !== set[1] ? "differs" : null}, el("td", null, g.name), set.map(f => el("td", null, fmt(f))));
      return r;
    });
    compare.replaceChildren(el("h3", null, two.length === 2 ? "A against B" : "Plan A (click another point to compare)"),
      table(["variable", ...two.map((_, k) => "AB"[k])], [["time over the program's", ...two.map(p => p.time.toFixed(3))], ["error", ...two.map(p => sci(p.error))], ...rows]));
  };
  let frame = 0;
  canvas.addEventListener("mousemove", ev => { cancelAnimationFrame(frame); frame = requestAnimationFrame(() => { const n = nearest(ev); if (n !== at) show(n); }); });
  canvas.addEventListener("mouseleave", () => show(-1));
  canvas.addEventListener("click", ev => pin(nearest(ev)));
  const order = points.map((_, i) => i).sort((a, b) => points[a].time - points[b].time);
  canvas.addEventListener("keydown", ev => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[ev.key];
    if (step) { ev.preventDefault(); const k = order.indexOf(at); show(order[(k < 0 ? 0 : k + step + order.length) % order.length]); }
    else if (ev.key === "Enter" || ev.key === " ") { ev.preventDefault(); pin(at); }
    else if (ev.key === "Escape") show(-1);
  });
  new ResizeObserver(draw).observe(canvas);
  redraws.push(draw);
})();
function lowered(levels) {
  const changed = levels.flatMap((l, i) => l > 0 ? [`${G[i].name} ${settingOf(i, l)}`] : []);
  if (!changed.length) return "nothing changed";
  if (changed.length === G.length && new Set(levels).size === 1) return `everything ${settingOf(0, levels[0])}`;
  return changed.length > 8 ? changed.slice(0, 8).join(", ") + ` and ${changed.length - 8} more` : changed.join(", ");
}

// ---------------------------------------------------------------- search progress
function progress() {
  const run = D.evaluations.filter(e => e.phase === "search");
  if (run.length < 2) return null;
  let best = 1;
  const steps = run.map(e => { if (!e.failure && e.time !== null && e.error !== null && e.error <= R.criteria.tolerance) best = Math.min(best, e.time); return best; });
  const W = 560, H = 200, m = {l: 46, r: 10, t: 10, b: 34};
  const lo = Math.min(...steps, 0.95), hi = Math.max(1.02, ...run.map(e => Math.min(e.time ?? 1, 1.3)));
  const X = i => m.l + (W - m.l - m.r) * i / Math.max(1, run.length - 1), Y = t => m.t + (H - m.t - m.b) * (hi - t) / (hi - lo);
  const path = steps.map((t, i) => (i ? `H${X(i).toFixed(1)}V` : `M${X(0)},`) + Y(t).toFixed(1)).join("");
  const grid = [lo, (lo + hi) / 2, hi];
  return el("div", null, el("h3", null, "Search progress"), svg("svg", {class: "chart", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `best time within the tolerance over ${run.length} evaluations: ends at ${steps[steps.length - 1].toFixed(3)}`},
    grid.map(g => [svg("line", {x1: m.l, x2: W - m.r, y1: Y(g), y2: Y(g), stroke: "var(--line)"}), svg("text", {x: m.l - 6, y: Y(g) + 4, "text-anchor": "end"}, g.toFixed(2))]),
    run.slice(0, 3000).map((e, i) => e.time === null || e.failure ? "" : svg("circle", {cx: X(i).toFixed(1), cy: Y(Math.min(e.time, hi)).toFixed(1), r: 3, fill: e.error !== null && e.error <= R.criteria.tolerance ? "var(--good)" : "var(--soft)", opacity: 0.6})),
    svg("path", {d: path, fill: "none", stroke: "var(--accent)", "stroke-width": 2}),
    svg("text", {x: (W + m.l) / 2, y: H - 6, "text-anchor": "middle"}, `evaluation, 1 to ${run.length}`)),
    el("div", {class: "legend"}, el("span", null, el("i", {style: "background:var(--good)"}), "within the tolerance"), el("span", null, el("i", {style: "background:var(--soft)"}), "not"), el("span", null, "line: best time so far")));
}

// ---------------------------------------------------------------- source
(() => {
  const s = $("source");
  s.append(...title("source", "Source", "Each line with the formats its operations have in the plan, and its part of the cost of all floating-point operations of the program as it is (counts times the device's throughputs; memory left out). Open a line to see its operations, their ranges and why they stayed." + (E && E.has_sampled_ranges ? " Ranges are those of some executions: of some warps, and of what their threads run often the first and every seventeenth." : "")));
  if (!E || !E.sources.length) { s.append(el("p", null, "The source was not kept with this result.")); return; }
  const byLine = new Map();
  R.sites.forEach((site, i) => {
    const ev = E.sites[i];
    if (!ev || ev.file === null || site.line === null) return;
    const key = ev.file + ":" + site.line;
    if (!byLine.has(key)) byLine.set(key, []);
    byLine.get(key).push([site, ev]);
  });
  const most = Math.max(1e-12, ...[...byLine.values()].map(l => l.reduce((a, x) => a + (x[1].share || 0), 0)));
  const tabs = el("div", {class: "tabs", role: "tablist"}), body = el("div");
  const views = E.sources.map((f, i) => [f.file.split("/").pop(), () => source(i)]);
  if (D.ir[1].length) views.push(["IR of the plan", () => ir(D.ir[1])]);
  if (D.ir[0].length) views.push(["IR of the program", () => ir(D.ir[0])]);
  if (D.ptx) views.push(["PTX of the plan", () => { const p = el("pre", {class: "code", style: "max-height:640px", tabindex: 0}); p.textContent = D.ptx; return p; }]);
  const open = k => { [...tabs.children].forEach((t, i) => { t.setAttribute("aria-selected", i === k); t.tabIndex = i === k ? 0 : -1; }); body.replaceChildren(views[k][1]()); };
  views.forEach((v, k) => tabs.append(el("button", {type: "button", role: "tab", "aria-selected": "false", onclick: () => open(k), onkeydown: ev => { const d = {ArrowRight: 1, ArrowLeft: -1}[ev.key]; if (d) { const n = (k + d + views.length) % views.length; open(n); tabs.children[n].focus(); } }}, v[0])));
  s.append(tabs, body);

  const WORDS = /(\/\/.*$|\/\*.*?\*\/)|\b(__global__|__device__|__shared__|__constant__|__restrict__|kernel|double|float|half|__half|__nv_bfloat16|int|unsigned|long|bool|void|const|if|else|for|while|return|struct|template|typename|auto|static|inline|extern)\b/g;
  const painted = text => {
    const out = []; let from = 0;
    for (const m of text.matchAll(WORDS)) { out.push(text.slice(from, m.index), el("span", {class: m[1] ? "c" : "k"}, m[0])); from = m.index + m[0].length; }
    out.push(text.slice(from));
    return out;
  };
  function detail(list) {
    const rows = list.map(([site, ev]) => {
      const g = site.group === null || site.group === undefined ? null : G[site.group];
      const variant = [site.variant, site.second ? `${site.second} in part of the warps` : null].filter(Boolean).join(", ");
      return [site.op + (ev.variable ? ` → ${ev.variable}` : ""), el("span", null, fmt(site.from), site.to !== site.from ? [" → ", fmt(site.to)] : "", variant ? ` ${variant}` : ""),
        ev.count === null ? "" : many(ev.count), ev.share === null ? "" : pct(ev.share), ev.range ? `${sci(ev.range[0])} … ${sci(ev.range[1])}` : "", ev.cancellation ? `${ev.cancellation} bits` : "",
        (ev.local || []).slice(0, 1).map(l => `${sci(l.largest)} as ${l.format}`).join(""),
        site.fixed || (g ? why(g.kept) : "") || (site.to !== site.from ? "" : ""), g ? g.name : ""];
    });
    return el("div", {class: "detail"}, table(["operation", "format", "#runs", "#cost", "magnitudes", "cancelled", "rounding alone", "why not lower", "variable"], rows));
  }
  function source(file) {
    const lines = E.sources[file].text.split(/\r?\n/), box = el("div", {class: "code", role: "region", "aria-label": E.sources[file].file, tabindex: 0});
    const busy = n => byLine.has(file + ":" + n);
    const near = n => { for (let k = -3; k <= 3; k++) if (busy(n + k)) return true; return false; };
    const one = n => {
      const list = byLine.get(file + ":" + n);
      const text = el("span", {class: "src"}, painted(lines[n - 1]));
      if (!list) return el("div", {class: "l quiet"}, el("span", {class: "no"}, n), el("span"), el("span"), text);
      const share = list.reduce((a, x) => a + (x[1].share || 0), 0), after = list.reduce((a, x) => a + (x[1].share_after || 0), 0);
      const formats = [...new Set(list.map(x => x[0].to))], approx = list.some(x => x[0].variant || x[0].second);
      const row = el("button", {class: "l", type: "button", "aria-expanded": "false", title: `${pct(share)} of the operations' cost, ${pct(after)} in the plan`},
        el("span", {class: "no"}, n), el("span", null, fmt(formats.length === 1 ? formats[0] : "mixed"), approx ? "≈" : ""), el("span", {class: "bar", "aria-label": `cost ${pct(share)}`, role: "img"}, el("i", {style: `width:${(100 * share / most).toFixed(1)}%`})), text);
      let open = null;
      row.addEventListener("click", () => { if (open) { open.remove(); open = null; } else { open = detail(list); row.after(open); } row.setAttribute("aria-expanded", String(!!open)); });
      return row;
    };
    for (let n = 1; n <= lines.length; n++) {
      if (near(n)) { box.append(one(n)); continue; }
      let end = n; while (end < lines.length && !near(end + 1)) end++;
      if (end - n < 6) { for (; n <= end; n++) box.append(one(n)); n--; continue; }
      const from = n, fold = el("button", {class: "fold", type: "button"}, `⋯ lines ${from} to ${end}`);
      fold.addEventListener("click", () => { const part = document.createDocumentFragment(); for (let k = from; k <= end; k++) part.append(one(k)); fold.replaceWith(part); });
      box.append(fold); n = end;
    }
    return box;
  }
  function ir(lines) {
    const box = el("div", {class: "code", role: "region", "aria-label": "IR", tabindex: 0});
    lines.slice(0, 20000).forEach(l => box.append(el("div", {class: "l ir"}, el("span", {class: "no"}, l.at ? l.at[1] : ""), el("span", {class: "src"}, l.text))));
    if (lines.length > 20000) box.append(el("div", null, `${lines.length - 20000} more lines`));
    return box;
  }
  open(0);
})();

// ---------------------------------------------------------------- variables
(() => {
  const s = $("groups");
  s.append(...title("groups", "Variables", "What changes together, what it became, and why it did not go lower. “Alone” is the error of the program with only this one lowered, where that ran."));
  const rows = G.map((g, i) => [g.name, el("span", null, fmt(g.formats[0]), g.format !== g.formats[0] ? [" → ", fmt(g.format)] : ""), g.lines.slice(0, 6).join(", ") + (g.lines.length > 6 ? ", …" : ""), g.holds && g.holds.length ? g.holds.reduce((a, h) => a + h.sites.length, 0) : g.sites.length || "", D.alone[i] === null ? "" : sci(D.alone[i]), why(g.kept) || (g.format !== g.formats[0] ? "as low as was allowed" : "")]);
  s.append(table(["variable", "format", "lines", "#operations", "#alone", "why not lower"], rows, "wide stack"));
  const fixed = new Map();
  R.sites.filter(x => x.fixed).forEach(x => fixed.set(x.fixed, [...(fixed.get(x.fixed) || []), x.line]));
  const all = [...fixed].map(([w, l]) => [w, l.length, [...new Set(l.filter(Boolean))].slice(0, 10).join(", ")]);
  (R.fixed_storage || []).forEach(f => all.push([`${f.name}: ${f.why}`, "", ""]));
  if (all.length) s.append(el("details", null, el("summary", null, `${all.length} reasons why something cannot change`), table(["why", "#operations", "lines"], all)));
})();

// ---------------------------------------------------------------- launch shapes
(() => {
  const sets = G.flatMap((g, i) => g.name.startsWith("launch: ") && g.formats.length > 1 ? [i] : []);
  if (!sets.length) return;
  const s = $("launch");
  s.hidden = false;
  document.querySelector("nav a[href='#errors']").before(el("a", {href: "#launch"}, "Launch"));
  s.append(...title("launch", "Launch shapes", `Time of every shape that ran, over that of the program with its own shape, ${timed}: the least, where other things changed too. Stronger is faster.`));
  const shape = text => new Map(text.split(",").map(w => { const at = w.indexOf("="); return at < 0 ? ["form", w] : [w.slice(0, at), w.slice(at + 1)]; }));
  const byNumber = (a, b) => (+a - +b) || (a < b ? -1 : a > b ? 1 : 0);
  const all = D.evaluations.filter(e => e.phase !== "baseline" && e.levels.length === G.length);
  sets.forEach(i => {
    const shapes = G[i].formats.map(shape), names = [...new Set(shapes.flatMap(m => [...m.keys()]))];
    const values = n => [...new Set(shapes.map(m => m.get(n) ?? ""))].sort(byNumber);
    const varied = names.filter(n => values(n).length > 1);
    const ending = c => varied.find(n => n.endsWith(c));
    const across = ending("x") ?? varied[0] ?? names[0], down = varied.find(n => n !== across && n.endsWith("y")) ?? varied.find(n => n !== across);
    const others = varied.filter(n => n !== across && n !== down);
    const cells = new Map(), key = m => `${m.get(across) ?? ""} ${down ? m.get(down) ?? "" : ""}`;
    const put = (level, time, error, failure) => {
      const k = key(shapes[level]), c = cells.get(k) || {time: null, over: null, why: null, level: null};
      if (failure || time === null) c.why = failure || "no time";
      else if (error === null || error > R.criteria.tolerance) c.over = Math.min(c.over ?? Infinity, error ?? Infinity);
      else if (c.time === null || time < c.time) { c.time = time; c.level = level; }
      cells.set(k, c);
    };
    if (R.verdict !== "unmet") put(0, 1, 0, null);
    all.forEach(e => put(e.levels[i], e.time, e.error, e.failure));
    const times = [...cells.values()].flatMap(c => c.time === null ? [] : [Math.log(c.time)]), lo = Math.min(...times), hi = Math.max(...times);
    const own = key(shapes[0]), chosen = key(shapes[R.assignment[i]]);
    const there = new Set(shapes.map(key));
    const cell = (x, y) => {
      const k = `${x} ${y}`, c = cells.get(k), mark = (k === chosen ? "◯" : "") + (k === own ? "•" : "");
      const name = `${across} ${x}` + (down ? `, ${down} ${y}` : "");
      if (!there.has(k)) return el("td", {class: "none", title: `${name}: not in the space, or cannot run`}, "");
      if (!c) return el("td", {class: "none", title: `${name}: did not run`}, "·");
      if (c.time === null) return el("td", {class: "off", title: `${name}: ${c.over !== null ? "error " + sci(c.over === Infinity ? null : c.over) : c.why}`}, c.over !== null ? "error" : "failed");
      const strong = hi > lo ? 1 - (Math.log(c.time) - lo) / (hi - lo) : 1;
      return el("td", {class: k === chosen ? "chosen" : null, style: `background:color-mix(in srgb,var(--good) ${Math.round(4 + 40 * strong)}%,transparent)`, title: `${name}: time ${c.time.toFixed(3)}` + (others.length ? ` with ${G[i].formats[c.level]}` : "")}, c.time.toFixed(3), mark ? el("span", {class: "mark"}, mark) : null);
    };
    const rows = down ? values(down) : [""];
    s.append(el("h3", null, G[i].name.slice(8) + (others.length ? `; over ${others.join(" and ")} the best` : "")),
      el("div", {class: "scroll"}, el("table", {class: "heat", "aria-label": `time by ${across}${down ? " and " + down : ""}`},
        el("thead", null, el("tr", null, el("th", {scope: "col"}, down ? `${down} \\ ${across}` : across), values(across).map(x => el("th", {class: "n", scope: "col"}, x)))),
        el("tbody", null, rows.map(y => el("tr", null, el("th", {scope: "row", class: "n"}, y || "time"), values(across).map(x => cell(x, y))))))),
      el("div", {class: "legend"}, el("span", null, "◯ chosen"), el("span", null, "• the program's own"), el("span", null, "· not run"), el("span", null, "empty: not in the space, or it cannot run")));
  });
})();

// ---------------------------------------------------------------- errors by element
(() => {
  const s = $("errors");
  s.append(...title("errors", "Where the error lies", "Relative error of every element on the tuning inputs, the plan beside the program as it is."));
  const after = E ? E.after.outputs : [], before = E ? E.before.outputs : [];
  if (!after.length) { s.append(el("p", null, "How the errors are spread was not kept with this result.")); return; }
  after.forEach(([name, parts], o) => parts.forEach((p, k) => {
    const own = before[o] && before[o][1][k];
    s.append(el("h3", null, name + (parts.length > 1 ? `, part ${k + 1}` : "") + ` (${p.count} elements)`), el("div", {class: "pair"}, histogram(p, own), map(p)),
      p.worst.length ? el("details", null, el("summary", null, "The worst elements"), table(["#element", "#error", "#value", "#reference"], p.worst.map(w => [w.index, sci(w.error), w.got === null ? "not finite" : w.got, w.reference === null ? "not finite" : w.reference]))) : el("p", null, "Every element is exact."));
  }));
  function histogram(p, own) {
    const bins = new Map(), add = (q, i) => q && q.halves_of_decades.forEach(([d, n]) => { if (!bins.has(d)) bins.set(d, [0, 0]); bins.get(d)[i] += n; });
    add(own, 0); add(p, 1);
    const keys = [...bins.keys()].sort((a, b) => a - b);
    if (!keys.length) return el("div", null, "no errors");
    const d0 = keys[0], d1 = keys[keys.length - 1] + 1, W = 460, H = 210, m = {l: 46, r: 24, t: 8, b: 36};
    const top = Math.log10(Math.max(...[...bins.values()].flat(), 1)) || 1;
    const X = d => m.l + (W - m.l - m.r) * (d - d0) / (d1 - d0), h = n => n ? Math.max(2, (H - m.t - m.b) * Math.log10(n + 1) / (top + 0.1)) : 0;
    const w = (X(d0 + 1) - X(d0)) / 2 - 1, base = H - m.b, tol = Math.log10(R.criteria.tolerance) * 2;
    const ticks = []; for (let d = Math.ceil(d0 / 2); d <= d1 / 2; d += Math.max(1, Math.ceil((d1 - d0) / 16))) ticks.push(d);
    return el("div", null, svg("svg", {class: "chart", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "histogram of errors"},
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].filter(e => e <= top).map(e => [svg("line", {x1: m.l, x2: W - m.r, y1: base - h(10 ** e), y2: base - h(10 ** e), stroke: "var(--line)"}), svg("text", {x: m.l - 6, y: base - h(10 ** e) + 4, "text-anchor": "end"}, many(10 ** e))]),
      keys.map(d => [svg("rect", {x: X(d), y: base - h(bins.get(d)[0]), width: Math.max(1, w), height: h(bins.get(d)[0]), fill: "var(--f64)", opacity: 0.6}), svg("rect", {x: X(d) + w + 1, y: base - h(bins.get(d)[1]), width: Math.max(1, w), height: h(bins.get(d)[1]), fill: "var(--accent)"})]),
      tol >= d0 && tol <= d1 ? svg("line", {x1: X(tol), x2: X(tol), y1: m.t, y2: base, stroke: "var(--bad)", "stroke-dasharray": "5 4"}) : "",
      ticks.map(d => svg("text", {x: X(2 * d), y: base + 16, "text-anchor": "middle"}, "1e" + d)), svg("text", {x: (W + m.l) / 2, y: H - 4, "text-anchor": "middle"}, "relative error; elements, logarithmic")),
      el("div", {class: "legend"}, el("span", null, el("i", {style: "background:var(--f64)"}), `program (${own ? own.exact : 0} exact)`), el("span", null, el("i", {style: "background:var(--accent)"}), `plan (${p.exact} exact${p.infinite ? `, ${p.infinite} not finite` : ""})`)));
  }
  function map(p) {
    const m = p.map, c = el("canvas", {role: "img", "aria-label": `largest error by place, ${m.height} by ${m.width}`});
    const folded = m.rows === 1, columns = folded ? Math.min(32, m.columns) : m.columns, rows = folded ? Math.ceil(m.columns / columns) : m.rows;
    const cell = Math.max(3, Math.floor(420 / Math.max(columns, rows)));
    c.width = columns * cell; c.height = rows * cell; c.style.width = "auto"; c.style.imageRendering = "pixelated";
    const logs = m.cells.filter(e => e > 0).map(Math.log10), lo = Math.min(...logs), hi = Math.max(...logs);
    const paint = () => {
      const x = c.getContext("2d");
      m.cells.forEach((e, i) => {
        const t = e === null ? 1 : e === 0 ? 0 : hi > lo ? 0.15 + 0.85 * (Math.log10(e) - lo) / (hi - lo) : 0.6;
        x.fillStyle = e === null ? css("--bad") : css("--line"); x.fillRect(i % columns * cell, Math.floor(i / columns) * cell, cell, cell);
        if (e) { x.globalAlpha = t; x.fillStyle = css("--hot"); x.fillRect(i % columns * cell, Math.floor(i / columns) * cell, cell, cell); x.globalAlpha = 1; }
      });
    };
    paint(); redraws.push(paint);
    return el("div", null, c, el("div", {class: "legend"}, el("span", null, (folded ? `by position, ${Math.max(1, Math.round(m.width / m.columns))} elements a cell, rows of ${columns}` : `map of ${m.height} × ${m.width}`) + (logs.length ? `; faint ${sci(10 ** lo)}, strong ${sci(10 ** hi)}` : "; no error"))));
  }
})();

// ---------------------------------------------------------------- time
(() => {
  const s = $("time");
  s.append(...title("time", "Where the time goes", "Predicted by the cost model from counts of the program and the device profile, also where the speed-up was measured: seconds of each resource, if it alone mattered."));
  const p = progress();
  const kernels = E ? E.before.kernels : [];
  if (kernels.length) {
    const merged = v => { const by = new Map(); v.kernels.forEach(k => { const m = by.get(k.kernel) || {s: 0, shares: new Map(), limit: k.limit, registers: k.registers, warps: k.warps, launches: 0}; m.s += k.seconds * k.launches; m.launches += k.launches; k.shares.forEach(([r, t]) => m.shares.set(r, (m.shares.get(r) || 0) + t * k.launches)); by.set(k.kernel, m); }); return by; };
    const b = merged(E.before), a = merged(E.after);
    s.append(table(["kernel", "#launches", "#before", "#after", "limited by, before", "after", "#registers", "#warps"], [...b].map(([n, k]) => { const q = a.get(n) || k; return [n, k.launches, secs(k.s), secs(q.s), k.limit, q.limit, `${k.registers} → ${q.registers}`, `${k.warps} → ${q.warps}`]; }), true));
    const first = [...b].sort((x, y) => y[1].s - x[1].s)[0], q = a.get(first[0]) || first[1];
    const rows = [...first[1].shares].sort((x, y) => y[1] - x[1]).slice(0, 8), top = Math.max(...rows.map(r => Math.max(r[1], q.shares.get(r[0]) || 0)), 1e-30);
    const bars = (t, u) => el("div", {class: "two"}, el("i", {style: `width:${(100 * t / top).toFixed(1)}%;background:var(--f64)`}), el("i", {style: `width:${(100 * u / top).toFixed(1)}%;background:var(--accent)`}));
    const chart = el("div", null, el("h3", null, `Resources: ${first[0]}`), table(["resource", "", "#program", "#plan"], rows.map(([r, t]) => { const u = q.shares.get(r) || 0; return [r, bars(t, u), secs(t), secs(u)]; }), true),
      el("div", {class: "legend"}, el("span", null, el("i", {style: "background:var(--f64)"}), "program"), el("span", null, el("i", {style: "background:var(--accent)"}), "plan")));
    s.append(el("div", {class: "pair"}, chart, roofline()));
  }
  const am = E ? [E.before.amount, E.after.amount] : null;
  const last = el("div", {class: "pair"});
  s.append(last);
  if (p) last.append(p);
  if (am) {
    const fs = [...new Set(am.flatMap(x => Object.keys(x.operations)))];
    last.append(el("div", null, el("h3", null, "Operations and bytes of a run"), table(["", "#program", "#plan"], [...fs.map(f => [el("span", null, fmt(f), " operations"), many(am[0].operations[f] || 0), many(am[1].operations[f] || 0)]), ["bytes of global memory asked for", many(am[0].bytes), many(am[1].bytes)], ["conversions in the code", am[0].conversions, am[1].conversions]])));
  }
  if (!kernels.length && !p && !am) s.append(el("p", null, "Nothing was counted for this result."));
  function roofline() {
    const P = E.peaks, names = Object.keys(P.operations);
    if (!P.bandwidth || !names.length) return null;
    const spot = (v, total) => { const ops = Object.values(v.amount.operations).reduce((a, b) => a + b, 0); return v.amount.bytes > 0 && ops > 0 && total > 0 ? [ops / v.amount.bytes, ops / total] : null; };
    const time = v => v.kernels.reduce((a, k) => a + k.seconds * k.launches, 0);
    const spots = [[spot(E.before, time(E.before)), "--f64", "program"], [spot(E.after, time(E.after)), "--accent", "plan"]].filter(x => x[0]);
    if (!spots.length) return null;
    const xs = spots.map(x => Math.log10(x[0][0])), peak = Math.max(...Object.values(P.operations));
    const x0 = Math.min(-1, ...xs.map(Math.floor)), x1 = Math.max(3, ...xs.map(Math.ceil)), y1 = Math.ceil(Math.log10(peak)), y0 = Math.min(y1 - 4, ...spots.map(x => Math.floor(Math.log10(x[0][1]))));
    const W = 460, H = 260, m = {l: 46, r: 22, t: 14, b: 36}, X = v => m.l + (W - m.l - m.r) * (v - x0) / (x1 - x0), Y = v => m.t + (H - m.t - m.b) * (y1 - v) / (y1 - y0);
    const band = Math.log10(P.bandwidth);
    const roof = f => { const t = Math.log10(P.operations[f]), knee = t - band, from = Math.max(x0, y0 - band); return svg("path", {d: `M${X(from)},${Y(from + band)}L${X(knee)},${Y(t)}H${X(x1)}`, fill: "none", stroke: `var(${colour(f)})`}); };
    const peaks = new Map();
    names.forEach(f => { const y = Y(Math.log10(P.operations[f])), near = [...peaks.keys()].find(k => Math.abs(k - y) < 14); if (near === undefined) peaks.set(y, [f]); else peaks.get(near).push(f); });
    const nx = []; for (let d = x0; d <= x1; d++) nx.push(d);
    const ny = []; for (let d = y0; d <= y1; d++) ny.push(d);
    return el("div", null, el("h3", null, `Roofline of ${R.profile}, predicted times`), svg("svg", {class: "chart", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": spots.map(x => `${x[2]}: ${x[0][0].toPrecision(3)} operations a byte, ${many(x[0][1])} operations a second`).join("; ")},
      nx.map(d => svg("text", {x: X(d), y: H - m.b + 16, "text-anchor": "middle"}, "1e" + d)), ny.map(d => [svg("line", {x1: m.l, x2: W - m.r, y1: Y(d), y2: Y(d), stroke: "var(--line)"}), svg("text", {x: m.l - 6, y: Y(d) + 4, "text-anchor": "end"}, "1e" + d)]),
      names.map(roof), [...peaks].map(([y, fs]) => svg("text", {x: X(x1) - 2, y: y - 4, "text-anchor": "end", style: `fill:var(${colour(fs[0])})`}, fs.join(", "))),
      spots.map(x => svg("circle", {cx: X(Math.log10(x[0][0])), cy: Y(Math.log10(x[0][1])), r: 6, fill: `var(${x[1]})`, stroke: "var(--panel)"})),
      svg("text", {x: (W + m.l) / 2, y: H - 4, "text-anchor": "middle"}, "operations a byte; operations a second")),
      el("div", {class: "legend"}, spots.map(x => el("span", null, el("i", {style: `background:var(${x[1]})`}), x[2]))));
  }
})();

// ---------------------------------------------------------------- repeat it
(() => {
  const s = $("repeat");
  const quoted = t => /^[\w./=:,+-]+$/.test(t) ? t : "'" + t.replace(/'/g, "'\\''") + "'";
  const shapes = G.some(g => g.name.startsWith("launch: ")), variants = G.some(g => g.formats.some(f => /^(approx|full|newton|reciprocal)|\//.test(f)));
  const what = [R.formats.length ? "precision" : null, variants ? "approx" : null, shapes ? "launch" : null].filter(Boolean).join(",");
  const command = ["kerf", "tune", quoted(String(R.workload)), ...(what && what !== "precision" ? ["--what", what] : []), ...(R.formats.length && R.formats.join() !== "f32" ? ["--formats", R.formats.join()] : []), "--tolerance", String(R.criteria.tolerance), "--metric", String(R.criteria.metric), "--strategy", R.strategy, "--budget", R.budget, "--seed", R.seed, ...R.overrides.flatMap(o => ["--size", `${o[0]}=${o[1]}`]), "--profile", R.profile, ...(measured ? ["--device", "cuda"] : []), "--out", "again"].join(" ");
  const rows = [["Kerf", R.kerf], ["result", D.folder], ["program (digest)", R.program], ["inputs (SHA-256)", R.inputs || "not kept"], ["input seed", R.input.seed], ["errors on", R.device], ["times for", measured ? R.speedup.by : C.time_kind ? `profile ${R.profile}, predicted` : "not recorded"], ["search", `${R.strategy}, seed ${R.seed}, ended: ${R.ended || "no search"}`],
    ["evaluations", `${R.effort.search} to search, ${R.effort.probes} to explain, ${R.effort.validation} to validate, ${R.effort.failed} failed; ${R.effort.wall_s.toFixed(1)} s`]];
  s.append(...title("repeat", "Repeat it", "The same command with the same seed searches the same plans."), el("pre", {tabindex: 0}, command), el("p", {class: "about"}, "Validate on fresh inputs: ", el("code", null, `kerf check ${quoted(String(D.folder))}`)),
    el("dl", {class: "repro"}, rows.flatMap(r => [el("dt", null, r[0]), el("dd", null, r[1])])),
    E && E.workload ? el("details", null, el("summary", null, "The workload file"), el("pre", {tabindex: 0}, E.workload)) : "");
  $("footer").textContent = `Made by Kerf ${R.kerf}. Times are ${measured ? "measured on " + R.speedup.by : C.time_kind ? "predicted, not measured" : "without a recorded measurement"}.`;
})();

// ---------------------------------------------------------------- light and dark
(() => {
  const dark = () => document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => { $("theme").textContent = dark() ? "Light" : "Dark"; };
  $("theme").addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; label(); redraws.forEach(f => f()); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { label(); redraws.forEach(f => f()); });
  label();
})();
})();
