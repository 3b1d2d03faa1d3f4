// The head line, provenance, the prompt row and the figures strip.
const FIGURES = ['speedup', 'tokens_per_pass', 'acceptance', 'alpha', 'time_split'];
const LONG_PROMPT = 64, PROMPT_TAIL = 32;

function showHead() {
  const { trace, source } = run, { target, draft, date } = trace.provenance;
  const badge = find('.source');
  badge.className = 'source ' + source;
  setText(badge, say('source.' + source) + (run.interrupted ? ' · ' + say('interrupted') : ''));
  setText(find('.title'), trace.title ?? say('title.' + source));
  const changes = find('.title-row .changes');
  changes.hidden = (run.rules[ruleKey()]?.exact ?? true) || isPlainRun();
  setText(changes, say('changes'));
  changes.title = say('changesHelp');
  const devices = [...new Set([target.dtype, draft?.dtype].filter(Boolean))].join(' / ') + ' · ' + target.device;
  const models = find('.models');
  models.replaceChildren(pair(say('target'), target.name), pair(say('draft'), draft?.name ?? say('noDraftModel')),
    ...wayParts(), el('span', '', headSettings(trace.settings)), el('span', '', devices), el('span', '', date.slice(0, 10)));
  const about = find('.about');
  about.hidden = !trace.about;
  setText(about, trace.about ?? '');
  showProvenance();
}

function isPlainRun() { return run.trace.provenance.method === 'plain'; }

// The method and the rule by name; a plain run has neither.
function wayParts() {
  if (isPlainRun()) return [];
  return [pair(say('prov.method'), methodTitle(run.trace.settings.method)), pair(say('prov.rule'), run.rules[ruleKey()]?.title ?? ruleKey())];
}

function headSettings(settings) {
  const used = name => !run.unused.includes(name), tree = used('tree') && settings.tree?.length;
  const shape = tree ? say('head.tree', { tree: settings.tree.join(' ') }) : used('gamma') && say('head.gamma', settings);
  return [shape, say('head.rest', { temperature: settings.temperature, tokens: settings.max_new_tokens })].filter(Boolean).join(' · ');
}

function pair(label, text) {
  const node = el('span');
  node.append(el('span', 'faint', label + ' '), el('b', '', text));
  return node;
}

function modelText(model) {
  const number = n => n.toLocaleString('en').replaceAll(',', ' ');
  const values = { ...model, parameters: number(model.parameters), vocab: number(model.vocab) };
  const extra = [model.context && say('prov.context', model), model.revision && say('prov.revision', model), model.source && say('prov.from', model)];
  return [say('prov.model', values), ...extra.filter(Boolean)].join(', ');
}

function plainValue(value) {
  return Array.isArray(value) ? value.map(item => JSON.stringify(item)).join(', ') || say('none') : String(value?.rawJSON ?? value);
}

function ruleText(key) {
  const rule = run.rules[key];
  return rule ? `${rule.title}: ${rule.about} (${rule.used_by})` : key;
}

function showProvenance() {
  const p = run.trace.provenance, { settings } = run.trace, finish = run.lanes.speculative.tail?.finish;
  const rows = [['target', modelText(p.target)], ['draft', p.draft ? modelText(p.draft) : say('noDraftModel')],
    ['prov.method', methodTitle(p.method)], ['prov.rule', ruleText(p.rule)], ['prov.pair', p.pair], ['prov.date', p.date], ['prov.machine', p.machine],
    ['prov.threads', p.threads], ['prov.versions', `specviz ${p.specviz}, torch ${p.torch}, transformers ${p.transformers}, Python ${p.python}`],
    ['prov.settings', Object.entries(settings).filter(([name]) => !run.unused.includes(name)).map(([name, value]) => name + ' ' + plainValue(value)).join(' · ')],
    ['prov.prompt', run.trace.prompt.text], ['prov.finish', finish && say('finish.' + finish)],
    ['prov.failure', run.lanes.speculative.tail?.failure], ['prov.notes', (p.notes ?? []).join(' ')]];
  const list = find('.provenance dl');
  list.replaceChildren();
  for (const [key, text] of rows) {
    if ((text ?? '') !== '') list.append(el('dt', '', say(key)), el('dd', '', String(text)));
  }
}

function promptChips(from) { return run.trace.prompt.ids.slice(from).flatMap(id => [chip(id, 'prompt'), ...lineBreak(id)]); }

function showPrompt() {
  const { length } = run.trace.prompt.ids, strip = find('.lane-prompt .strip');
  const hidden = length > LONG_PROMPT ? length - PROMPT_TAIL : 0;
  strip.replaceChildren(...promptChips(hidden));
  if (!hidden) return;
  const more = el('button', 'fold', '… ' + say('foldPrompt', { n: hidden }));
  more.type = 'button';
  more.onclick = () => { unfoldPrompt(); strip.focus(); };
  strip.prepend(more);
}

function unfoldPrompt() {
  const strip = find('.lane-prompt .strip');
  if (strip.querySelector('.fold')) strip.replaceChildren(...promptChips(0));
}

function showFigures(step) {
  const last = step >= roundCount() && run.end;
  const figures = (last ? run.end.figures : run.figures[Math.min(step, roundCount()) - 1]) ?? {};
  const names = [...new Set([...FIGURES, ...Object.keys(run.end?.figures ?? run.figures.at(-1) ?? {})])];
  const strip = find('.figures'), whole = last || !roundCount();
  setText(find('.figures-scope'), whole ? '' : say('figuresUpTo', { i: Math.min(step, roundCount()), n: roundCount() }));
  for (const name of names) paintFigure(figureCard(strip, name), name, figures[name]);
}

function figureCard(strip, name) {
  let card = [...strip.children].find(node => node.dataset.figure === name);
  if (card) return card;
  card = el('div', 'figure');
  card.dataset.figure = name;
  card.append(el('dt'), el('dd', 'value'), el('dd', 'detail'));
  card.children[1].append(el('span', 'amount'), el('span', 'kind'));
  strip.append(card);
  return card;
}

// A figure without a value says why; it never turns into a zero.
function paintFigure(card, name, figure) {
  const label = card.firstChild, detail = card.querySelector('.detail'), [amount, kind] = card.querySelector('.value').children;
  setText(label, known('figure.' + name) ? say('figure.' + name) : name.replaceAll('_', ' '));
  const missing = figure?.value === null || figure?.value === undefined;
  const slower = name === 'speedup' && !missing && parseFloat(figure.value) < 1;
  card.classList.toggle('missing', missing);
  card.classList.toggle('slower', slower);
  kind.hidden = missing;
  if (!missing) { setText(kind, say('kind.' + figure.kind)); kind.title = say('kindHelp.' + figure.kind); }
  setText(amount, missing ? '–' : figure.value);
  setText(detail, [slower && say('slower'), figure ? figure.detail : say('noRounds')].filter(Boolean).join(' · '));
  paintParts(card, missing ? null : figure.parts);
}

function paintParts(card, parts) {
  let bar = card.querySelector('.parts');
  if (!parts) { bar?.remove(); return; }
  const total = Object.values(parts).reduce((sum, part) => sum + part, 0);
  if (!bar) { bar = el('dd', 'parts'); card.children[1].after(bar); }
  bar.replaceChildren(el('span', 'stack'), el('span', 'names'));
  for (const [name, time] of Object.entries(parts)) {
    const piece = el('span', 'part part-' + name), label = el('span', 'part-name part-' + name);
    piece.style.width = (total ? 100 * time / total : 0) + '%';
    label.append(el('i'), (known('part.' + name) ? say('part.' + name) : name) + ' ', el('b', '', timeText(time)));
    bar.firstChild.append(piece);
    bar.lastChild.append(label);
  }
}
