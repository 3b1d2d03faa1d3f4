// The run a tab holds survives the page reload that follows a lost connection. Recorded runs need no keeping.
const KEPT = 'specviz-runs', KEEP_EVERY = 1500, KEEP_FOR = 24 * 3600 * 1000;
const keeping = { timer: 0, key: null };

function tabKey() {
  if (keeping.key) return keeping.key;
  const name = 'specviz-tab-' + (element.parentElement?.closest('[id]')?.id ?? '');
  keeping.key = sessionStorage.getItem(name) ?? crypto.getRandomValues(new Uint32Array(3)).join('-');
  sessionStorage.setItem(name, keeping.key);
  return keeping.key;
}

function request(action) {
  return new Promise((resolve, reject) => { action.onsuccess = () => resolve(action.result); action.onerror = () => reject(action.error); });
}

async function store(mode) {
  const opening = indexedDB.open(KEPT, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore('runs');
  const database = await request(opening);
  return { runs: database.transaction('runs', mode).objectStore('runs'), close: () => database.close() };
}

// Storage may be blocked (private window, foreign frame); then there is simply nothing kept.
async function withRuns(mode, act) {
  try {
    const { runs, close } = await store(mode);
    try { return await act(runs); } finally { close(); }
  } catch (error) { console.debug('specviz keeps no run:', error.message); return undefined; }
}

function keepSoon() {
  if (!run || run.source === 'recorded' || run.interrupted || keeping.timer) return;
  keeping.timer = setTimeout(keepNow, run.end ? 0 : KEEP_EVERY);
}

function keepNow() {
  clearTimeout(keeping.timer);
  keeping.timer = 0;
  const text = feed.text;
  return withRuns('readwrite', runs => request(runs.put({ text, date: Date.now() }, tabKey())));
}

async function keptRun() {
  const kept = await withRuns('readonly', runs => request(runs.get(tabKey())));
  return kept?.text;
}

function forgetRun() { return withRuns('readwrite', runs => request(runs.delete(tabKey()))); }

// Tabs that were closed leave their run behind; a day later it goes.
function forgetOldRuns() {
  return withRuns('readwrite', async runs => {
    const [keys, values] = await Promise.all([request(runs.getAllKeys()), request(runs.getAll())]);
    keys.forEach((key, k) => { if (Date.now() - values[k].date > KEEP_FOR) runs.delete(key); });
  });
}
