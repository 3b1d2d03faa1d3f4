"""Look of the tabs that measure: a Row .sv-tab of three Columns .sv-tab-start, .sv-tab-choose and .sv-tab-board.

The board is on the right; on a phone it stands between what starts a run and what there is to choose.
"""

TAB_CSS = """
.sv-tab { display: grid; width: 100%; grid-template-columns: 300px minmax(0, 1fr); grid-template-rows: auto 1fr;
  grid-template-areas: "start board" "choose board"; gap: 10px 20px; align-items: start; }
.sv-tab-start { grid-area: start; }
.sv-tab-choose { grid-area: choose; }
.sv-tab-board { grid-area: board; }
.sv-tab > .column { min-width: 0 !important; width: 100%; gap: 8px; }
.sv-tab .sv-field { gap: 0; }
.sv-tab .html-container { padding: 0 !important; }
.sv-tab .sv-say p { margin: 0; min-height: 1.4em; overflow-wrap: anywhere; }
.sv-tab .sv-lane { padding: 6px 10px; }
.sv-tab .sv-lane .sv-field label { overflow-wrap: anywhere; }
@media (max-width: 800px) { .sv-tab { grid-template-columns: minmax(0, 1fr); grid-template-rows: auto;
  grid-template-areas: "start" "board" "choose"; } }
"""
