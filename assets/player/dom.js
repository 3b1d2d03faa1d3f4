// Small helpers for the DOM and for numbers. Data reaches the page through textContent only.
function el(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function find(selector) { return element.querySelector(selector); }

function setText(node, text) { if (node.textContent !== text) node.textContent = text; }

// A probability with three decimals, never rounded onto 0 or 1 when it is neither.
function prob(x) {
  if (x === 0 || x === 1) return String(x);
  if (x < 0.0005) return x.toExponential(1);
  return x > 0.9995 ? '>0.999' : x.toFixed(3);
}

// Two numbers with as few decimals (two at least) as tell them apart.
function twoApart(a, b) {
  for (let digits = 2; digits < 6; digits++) {
    if (a.toFixed(digits) !== b.toFixed(digits)) return [a.toFixed(digits), b.toFixed(digits)];
  }
  return [String(a), String(b)];
}

function seconds(t) { return t.toFixed(t < 10 ? 2 : 1); }
