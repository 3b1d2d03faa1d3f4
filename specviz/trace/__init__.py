"""What happened in a run, as plain data: no torch, no gradio."""
