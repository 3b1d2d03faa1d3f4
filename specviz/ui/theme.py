"""Look of the page around the player: quiet, system fonts, light and dark."""

import gradio as gr

_SANS = ("-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Arial", "sans-serif")
_MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "DejaVu Sans Mono", "monospace")


def theme() -> gr.themes.Base:
    """Gradio's plain theme with a primary button of enough contrast in both modes (axe, 4.5:1)."""
    return gr.themes.Base(
        primary_hue="blue",
        neutral_hue="slate",
        text_size="sm",
        spacing_size="sm",
        radius_size="sm",
        font=[gr.themes.Font(name) for name in _SANS],
        font_mono=[gr.themes.Font(name) for name in _MONO],
    ).set(
        button_primary_background_fill="#0b5cad",
        button_primary_background_fill_hover="#084a8c",
        button_primary_background_fill_dark="#0b5cad",
        button_primary_background_fill_hover_dark="#084a8c",
        button_primary_text_color="#ffffff",
        button_primary_text_color_dark="#ffffff",
        body_text_color_subdued="#55606e",
        body_text_color_subdued_dark="#a3adba",
        block_label_text_color="#334155",
        block_label_text_color_dark="#cbd5e1",
    )


CSS = """
.gradio-container { width: 100%; max-width: 1680px !important; margin: 0 auto; padding: 0 !important; }
.gradio-container .main.fillable { padding: 12px clamp(10px, 2vw, 24px); }
#sv-title h1 { margin: 0; font-size: 1.4rem; display: inline; }
#sv-title p { display: inline; margin-left: .75rem; }
#sv-head { align-items: center; flex-wrap: nowrap; }
#sv-shade { flex: 0 0 auto; min-width: 0; width: auto; }
#sv-page { display: grid; width: 100%; grid-template-columns: 300px minmax(0, 1fr); grid-template-rows: auto 1fr;
  grid-template-areas: "start view" "settings view"; gap: 10px 20px; align-items: start; }
#sv-start { grid-area: start; }
#sv-settings { grid-area: settings; }
#sv-view { grid-area: view; }
#sv-page > .column { min-width: 0 !important; width: 100%; gap: 8px; }
#sv-page .sv-field { gap: 0; }
#sv-prompt textarea { font-family: var(--font-mono); }
#sv-page .html-container { padding: 0 !important; }
/* a plain list, a line a run; it fades at the lower edge while it goes on below */
#sv-recorded { max-height: min(230px, 40vh); overflow-y: auto !important; flex-shrink: 0; scrollbar-width: thin;
  scroll-padding-bottom: 32px; }
#sv-recorded::after { content: ""; display: block; position: sticky; bottom: -9px; height: 32px; margin: -20px 0 -9px;
  background: linear-gradient(transparent, var(--block-background-fill)); pointer-events: none; }
#sv-recorded label { width: 100%; padding: 3px 6px; background: none; }
#sv-recorded label:hover, #sv-recorded label.selected { background: var(--checkbox-label-background-fill); }
#sv-recorded .wrap { gap: 1px; padding-bottom: 20px; }
#sv-recorded input:not(:checked) { border-color: var(--body-text-color-subdued); }
@media (min-width: 801px) { #sv-recorded { max-height: min(360px, 40vh); } }
#sv-status p { margin: 0; min-height: 1.4em; overflow-wrap: anywhere; }
.sv-problem { margin: 2px 0 4px; color: #b42318; font-weight: 600; }
.dark .sv-problem { color: #ffa198; }
.sv-missing { padding: 0 2px; }
.sv-missing ul { margin: 4px 0 0; padding-left: 1.2em; }
.sv-examples { gap: 4px; }
.sv-examples button { flex: 0 0 auto; min-width: 0 !important; padding: 2px 8px; }
@media (max-width: 800px) {
  #sv-title p { display: block; margin: 0; }
  #sv-page { grid-template-columns: minmax(0, 1fr); grid-template-rows: auto;
    grid-template-areas: "start" "view" "settings"; }
}
"""
