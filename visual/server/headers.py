"""The headers that tell a browser what this page may do.

Gradio's component `gr.HTML` makes its script with `new Function`, and plotly and Svelte write style
attributes: evaluation and inline styles cannot be forbidden. Inline scripts and event handlers can:
the few scripts of Gradio's own page are named by their hash, so that no text of a prompt or a token
becomes one, whatever a template does with it.
"""

import base64
import functools
import hashlib
import re

SCRIPT = re.compile(rb"<script(?![^>]*\ssrc=)[^>]*>(.*?)</script>", re.S | re.I)
OFF = (
    "accelerometer", "autoplay", "camera", "display-capture", "geolocation",
    "gyroscope", "hid", "magnetometer", "microphone", "midi", "payment", "serial", "usb",
    "xr-spatial-tracking",
)  # fmt: skip

Header = tuple[bytes, bytes]

FIXED: list[Header] = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"permissions-policy", ", ".join(f"{name}=()" for name in OFF).encode()),
]


@functools.lru_cache(maxsize=8)
def policy(frames: str, page: bytes = b"") -> Header:
    """Return the header Content-Security-Policy.

    Args:
        frames: origins that may frame the page, or "none" for the page's own alone.
        page: the HTML, whose inline scripts are allowed by hash.
    """
    hashes = sorted({_hash(script) for script in SCRIPT.findall(page)})
    ancestors = "'self'" if frames == "none" else f"'self' {frames}"
    rules = {
        "default-src": "'none'",
        "script-src": " ".join(["'self'", "'unsafe-eval'", *hashes]),
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "connect-src": "'self'",
        "manifest-src": "'self'",
        "base-uri": "'self'",
        "form-action": "'none'",
        "frame-ancestors": ancestors,
    }
    return b"content-security-policy", "; ".join(f"{k} {v}" for k, v in rules.items()).encode()


def _hash(script: bytes) -> str:
    # a parser has turned line ends into \n before it hashes
    text = script.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return f"'sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}'"
