"""How things look: colours and marks, Gradio's theme, and the frame that all small figures share.

Nothing comes in, constants and parts of plotly's JSON go out. Read `palette` first (what each
colour and shape stands for), then `plotly_base` and `theme`.
"""
