// How a token looks: white space, invisible and partial characters are shown, the true text is kept beside.
const NAMED = new Map(Object.entries({
  ' ': '·', '\n': '⏎', '\t': '→', '\r': '␍', '\u00a0': '⍽', '\u202f': '⍽', '\u00ad': 'SHY', '\u200b': 'ZWSP', '\u200c': 'ZWNJ',
  '\u200d': 'ZWJ', '\u2060': 'WJ', '\ufeff': 'BOM', '\u200e': 'LRM', '\u200f': 'RLM', '\u061c': 'ALM', '\u2028': 'LS', '\u2029': 'PS',
}));
const HIDDEN = /([\s\p{Cc}\p{Cf}\p{Zs}\p{Cs}\p{Co}\u115f\u1160\u3164\uffa0])/u;

function markOf(char) {
  const code = char.codePointAt(0);
  if (NAMED.has(char)) return NAMED.get(char);
  if (code < 32) return String.fromCharCode(0x2400 + code);
  return 'U+' + code.toString(16).toUpperCase().padStart(4, '0');
}

// Text split into what can be seen and marks for what cannot.
function visibleParts(text) {
  const parts = [];
  for (const bit of text.split(HIDDEN)) {
    if (!bit) continue;
    const mark = HIDDEN.test(bit);
    parts.push({ mark, shown: mark ? markOf(bit) : bit });
  }
  if (/^\p{M}/u.test(text)) parts.unshift({ mark: true, shown: '◌' });
  return parts.length ? parts : [{ mark: true, shown: '∅' }];
}

function pieceOf(id) { return run.pieces.get(String(id)) ?? { text: '#' + id, kind: 'control' }; }

function visibleText(id) {
  const piece = pieceOf(id);
  return piece.kind === 'bytes' ? piece.text : visibleParts(piece.text).map(part => part.shown).join('');
}

function quoted(id) {
  const piece = pieceOf(id);
  return piece.kind === 'bytes' ? '⟨' + piece.text + '⟩' : '“' + visibleParts(piece.text).map(
    part => (part.mark && part.shown === '·' ? ' ' : part.shown)).join('') + '”';
}

// One chip, two elements: a run has thousands. bdi keeps the direction of the text inside.
function chip(id, status) {
  const piece = pieceOf(id), kind = piece.kind ?? 'text';
  const node = el('span', 'tok ' + status + (kind === 'text' ? '' : ' ' + kind));
  node.dataset.id = id;
  node.append(el('bdi', '', visibleText(id)));
  return node;
}

// A token with a line break ends the line; what follows the break in the same token indents the next line.
function lineBreak(id) {
  const piece = pieceOf(id), at = piece.kind === 'bytes' ? -1 : piece.text.lastIndexOf('\n');
  if (at < 0) return [];
  const indent = el('span', 'indent');
  indent.style.width = piece.text.slice(at + 1).replaceAll('\t', '    ').length + 'ch';
  return [el('br'), indent];
}

function endsLine(id) { return lineBreak(id).length > 0; }

// The true text of a row of tokens; characters that are split over several tokens come together again.
function trueText(ids) {
  let text = '', bytes = [];
  const flush = () => { text += new TextDecoder().decode(new Uint8Array(bytes)); bytes = []; };
  for (const id of ids) {
    const piece = pieceOf(id);
    if (piece.kind === 'bytes') bytes.push(...(piece.text.match(/[0-9a-f]{2}/gi) ?? []).map(pair => parseInt(pair, 16)));
    else { flush(); text += piece.text; }
  }
  flush();
  return text;
}
