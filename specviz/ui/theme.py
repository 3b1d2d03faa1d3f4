"""Look of the page around the player: quiet, system fonts, light and dark."""

import gradio as gr

_SANS = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Arial", "sans-serif")
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
        block_label_text_color="#334155",
        block_label_text_color_dark="#cbd5e1",
    )


CSS = """
.gradio-container { max-width: 1680px; margin: 0 auto; }
#sv-title h1 { margin: 0; font-size: 1.4rem; display: inline; }
#sv-title p { display: inline; margin-left: .75rem; color: var(--body-text-color-subdued); }
#sv-page { display: grid; grid-template-columns: 300px minmax(0, 1fr); grid-template-rows: auto 1fr;
  grid-template-areas: "start view" "settings view"; gap: 12px 20px; align-items: start; }
#sv-start { grid-area: start; }
#sv-settings { grid-area: settings; }
#sv-view { grid-area: view; min-width: 0; }
#sv-page > .column { min-width: 0 !important; width: 100%; }
#sv-status p { margin: 0; min-height: 1.3em; }
.sv-problem { margin: 2px 0 4px; color: #b42318; font-weight: 600; }
.dark .sv-problem { color: #ffa198; }
.sv-missing { color: var(--body-text-color-subdued); font-size: .85em; }
.sv-missing p, .sv-missing ul { margin: 0; }
.sv-examples { gap: 4px; }
.sv-examples button { flex: 0 0 auto; }
@media (max-width: 800px) {
  #sv-page { grid-template-columns: minmax(0, 1fr); grid-template-rows: auto;
    grid-template-areas: "start" "view" "settings"; }
}
"""
