// Where the player stands: the step, the shared clock, playing and following. Stepping and playing stay in the browser.
const SPEEDS = [0.25, 0.5, 1, 2, 4, 10];
const player = { step: 0, clock: 0, playing: false, speed: 1, follow: true, frame: 0, wanted: null }; // wanted: a place to choose

function goTo(step) {
  player.step = Math.max(0, Math.min(step, lastStep()));
  player.clock = clockAt(player.step);
  player.follow = player.step === lastStep();
  show();
}

function stepBy(by) { pause(); goTo(player.step + by); }

// The view stays at the newest round of a live run, with every plain token that has arrived.
function followNewest() {
  player.follow = true;
  player.step = lastStep();
  player.clock = lastClock();
  show();
}

function play() {
  if (!run || !roundCount()) return;
  if (player.step >= lastStep() && !isLive()) goTo(0);
  player.playing = true;
  player.follow = false;
  let before = performance.now();
  const tick = now => {
    if (!player.playing) return;
    if (!element.isConnected) { player.playing = false; return; }
    player.clock = Math.min(player.clock + (now - before) / 1000 * player.speed, lastClock());
    before = now;
    player.step = Math.max(player.step, stepAt(player.clock));
    if (player.clock < lastClock()) { player.frame = requestAnimationFrame(tick); show(); }
    else { player.playing = false; followNewest(); }
  };
  player.frame = requestAnimationFrame(tick);
  show();
}

function pause() {
  if (!player.playing) return;
  player.playing = false;
  cancelAnimationFrame(player.frame);
  show();
}

function togglePlay() { if (player.playing) pause(); else play(); }

function speedText(x) { return x === 1 ? say('realTime') + ' ' + say('times', { x }) : say('times', { x }); }

function setSpeed(x) {
  const select = find('.speed');
  let option = [...select.options].find(item => Number(item.value) === x);
  if (!option) { option = new Option(speedText(x), x); option.hidden = true; select.add(option); }
  option.selected = true;
  player.speed = x;
}

function fillSpeeds() {
  find('.speed').replaceChildren(...SPEEDS.map(x => new Option(speedText(x), x)));
  setSpeed(player.speed);
}

function stepText(step) {
  if (step === 0) return say('promptOnly');
  return step > roundCount() ? say('plainDone') : say('roundOf', { i: step, n: roundCount() });
}

function showTransport() {
  const scrubber = find('.scrubber');
  scrubber.max = lastStep();
  scrubber.value = player.step;
  const text = stepText(player.step);
  scrubber.setAttribute('aria-valuetext', text);
  setText(find('.step-text'), text);
  const button = find('.play');
  button.classList.toggle('playing', player.playing);
  button.setAttribute('aria-label', say(player.playing ? 'pause' : 'play'));
  find('.follow').hidden = !isLive() || player.follow;
  for (const name of ['.first', '.back']) find(name).disabled = player.step <= 0;
  for (const name of ['.next', '.last']) find(name).disabled = player.step >= lastStep();
}

const KEYS = {
  ArrowLeft: () => stepBy(-1), ArrowRight: () => stepBy(1), ' ': togglePlay,
  Home: () => { pause(); goTo(0); }, End: () => { pause(); goTo(lastStep()); },
};

// Keys count on the page itself or inside the player, but a field, a button or a scrolled strip keeps its own.
function ownsKey(event) {
  const target = event.target, inside = element.contains(target);
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return false;
  if (target !== document.body && !inside) return false;
  if (!inside && document.querySelector('.sv-player-visible') !== find('.sv')) return false;
  if (target.matches('.scrubber')) return !/^(Arrow|Home|End)/.test(event.key);
  if (target.matches('input, textarea, select, [contenteditable]')) return false;
  return !(event.key === ' ' && target.closest('button, summary, a, label'));
}

function onKey(event) {
  if (!element.isConnected) { document.removeEventListener('keydown', onKey); return; }
  if (!run || !ownsKey(event)) return;
  const act = /^[1-9]$/.test(event.key) ? () => setSpeed(Number(event.key)) : KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}
