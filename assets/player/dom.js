// Small helpers for the DOM and for numbers. Data reaches the page through textContent only.
function el(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

// The parts of the template never change, and a search through thousands of chips is slow: each is looked up once.
const parts = new Map();
function find(selector) {
  if (!parts.has(selector)) parts.set(selector, element.querySelector(selector));
  return parts.get(selector);
}

function setText(node, text) { if (node.textContent !== text) node.textContent = text; }

// A probability with three decimals, never rounded onto 0 or 1 when it is neither.
function prob(x) {
  if (x === 0 || x === 1) return String(x);
  if (x < 0.0005) return x.toExponential(1);
  return x > 0.9995 ? '>0.999' : x.toFixed(3);
}

// Two numbers as short as can be without becoming equal, or zero when they are not.
function twoApart(a, b) {
  const brief = (x, digits) => (x > 0 && x < 0.5 * 10 ** -digits ? x.toPrecision(1) : x.toFixed(digits));
  for (let digits = 2; digits < 7; digits++) {
    if (brief(a, digits) !== brief(b, digits)) return [brief(a, digits), brief(b, digits)];
  }
  return [String(a), String(b)];
}

function timeText(t) {
  if (t < 0.1) return (t * 1000).toFixed(t < 0.01 ? 1 : 0) + ' ms';
  return t.toFixed(t < 10 ? 2 : 1) + ' s';
}
