// Runs in and out: export as a trace file or text, copy, import. An import goes to Python to be checked.
const IMPORT_LIMIT = 32 * 1024 * 1024;

// Which ids a lane uses: a trace file carries the display pieces of exactly these.
function idsOf(trace, lane) {
  const ids = new Set(trace.prompt.ids), add = top => top?.ids.forEach(id => ids.add(id));
  for (const round of lane.rounds) {
    for (const token of round.drafted) {
      ids.add(token.id);
      [token.p_top, token.q_top, token.residual_top, token.target_top, token.draft_top].forEach(add);
    }
    for (const token of round.emitted) { ids.add(token.id); [token.p_top, token.target_top].forEach(add); }
  }
  return ids;
}

function traceOf(head, lane) {
  const pieces = {};
  for (const id of idsOf(head, lane)) pieces[id] = pieceOf(id);
  const open = { output_ids: outputIds(lane), output_text: outputText(lane), finish: 'running' };
  return { ...head, pieces, rounds: lane.rounds, ...(lane.tail ?? open) };
}

function exportedTrace() {
  const trace = traceOf(run.trace, run.lanes.speculative);
  return JSON.stringify(run.lanes.plain ? { ...trace, baseline: traceOf(run.baseline, run.lanes.plain) } : trace);
}

function fileName(ending) {
  const title = (run.trace.title ?? 'specviz ' + run.source).normalize('NFKD').toLowerCase();
  const slug = (title + ' ' + run.trace.provenance.date.slice(0, 19)).replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '');
  return slug.slice(0, 80) + ending;
}

function download(text, type, name) {
  const link = el('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function exportTrace() { download(exportedTrace(), 'application/json', fileName('.json')); }
function exportText() { download(outputText(run.lanes.speculative), 'text/plain;charset=utf-8', fileName('.txt')); }

async function copyText() {
  try { await navigator.clipboard.writeText(outputText(run.lanes.speculative)); tell(say('copied')); }
  catch { tell(say('copyFailed')); }
}

// Unpacks while counting, so that a small file cannot fill the memory.
async function readTrace(file) {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const packed = head[0] === 0x1f && head[1] === 0x8b;
  const reader = (packed ? file.stream().pipeThrough(new DecompressionStream('gzip')) : file.stream()).getReader();
  const decoder = new TextDecoder(), parts = [];
  for (let size = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return parts.join('') + decoder.decode();
    size += value.length;
    if (size > IMPORT_LIMIT) { reader.cancel(); return null; }
    parts.push(decoder.decode(value, { stream: true }));
  }
}

async function importTrace(file) {
  tell(say('checking', { name: file.name }));
  let text;
  try { text = await readTrace(file); } catch { return tell(say('unreadable')); }
  if (text === null) return tell(say('tooLarge', { mb: IMPORT_LIMIT >> 20 }));
  return trigger('trace_import', { name: file.name, text });
}

// Copying chips gives the text they stand for, not their marks; drafts count only if nothing else is selected.
function copyChips(event) {
  const selection = document.getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return;
  const range = selection.getRangeAt(0), texts = [];
  if (!element.contains(range.commonAncestorContainer)) return;
  for (const strip of element.querySelectorAll('.strip')) {
    if (!range.intersectsNode(strip)) continue;
    const chips = [...strip.querySelectorAll('.tok')].filter(node => range.intersectsNode(node) && !node.closest('.future'));
    const kept = chips.filter(node => !node.closest('.over'));
    if (chips.length) texts.push(trueText((kept.length ? kept : chips).map(node => node.dataset.id)));
  }
  if (!texts.length) return;
  event.clipboardData.setData('text/plain', texts.join('\n'));
  event.preventDefault();
}
