"""The Space: build the page and serve it. GRADIO_SERVER_NAME and GRADIO_SERVER_PORT are honoured."""

from specviz.ui.app import build, launch_options

demo = build()

if __name__ == "__main__":
    demo.launch(**launch_options())
