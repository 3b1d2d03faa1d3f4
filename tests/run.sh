#!/usr/bin/env bash
# The whole test suite in a virtual environment of its own: bash tests/run.sh [pytest arguments]
# VENV names another place for the environment; CHROMIUM another browser.
set -euo pipefail
cd "$(dirname "$0")/.."

venv="${VENV:-.venv}"
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r requirements.txt -r tests/requirements.txt

find_chromium() {
  for name in chromium chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" && return 0
  done
  "$venv/bin/python" - <<'PY' 2>/dev/null
import pathlib
from playwright.sync_api import sync_playwright
with sync_playwright() as p:
    path = pathlib.Path(p.chromium.executable_path)
raise SystemExit(0 if path.exists() and not print(path) else 1)
PY
}

if [ -z "${CHROMIUM:-}" ] && ! CHROMIUM="$(find_chromium)"; then
  echo "No Chromium found; installing it." >&2
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq && apt-get install -y -qq chromium >/dev/null || true
  else
    "$venv/bin/python" -m playwright install chromium || true
  fi
  CHROMIUM="$(find_chromium)" || CHROMIUM=""
fi
export CHROMIUM

"$venv/bin/ruff" check .
exec "$venv/bin/python" -m pytest -n 2 --dist worksteal "$@"
