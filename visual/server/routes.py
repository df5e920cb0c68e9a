"""The routes that the page uses. Every other one that Gradio opens is closed: uploads, files, docs,
monitoring, run history, recordings, deep links, logins, and whatever its next version brings."""

import re
from pathlib import Path

import plotly

PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
VENDOR = "/vendor/plotly.min.js"  # under a name that tells nothing of this machine

_FILES = r"/(assets|static)(/[\w.-]{1,120}){1,6}|/theme\.css|/favicon\.ico|/robots\.txt"
RECORDED_FILES = "recorded/"  # below the page's address: the shipped runs, a file each
_API = "/gradio_api"
_READ = rf"{_API}/(info|startup-events|queue/data|heartbeat/\w{{1,64}})|/config"
_WRITE = rf"{_API}/(queue/join|run/predict)/?"

FILES = re.compile(
    rf"{_FILES}|/manifest\.json|{re.escape(VENDOR)}|/{RECORDED_FILES}[\w-]{{1,80}}\.json", re.ASCII
)
GET = re.compile(rf"/|{_READ}", re.ASCII)
POST = re.compile(_WRITE)
SAME = re.compile(rf"/|/config|{_API}/info|/theme\.css|/manifest\.json")  # for everybody
STREAMS = re.compile(rf"{_API}/(queue/data|heartbeat/(\w{{1,64}}))", re.ASCII)
JOIN = f"{_API}/queue/join"
GREETING = ("/", "/config")  # what a visitor asks for first


def file(method: str, path: str) -> bool:
    """Tell whether this asks for a file of the program, which costs next to nothing.

    >>> file("GET", "/assets/index.js"), file("GET", "/assets/../app.py")
    (True, False)
    """
    return method in ("GET", "HEAD") and ".." not in path and bool(FILES.fullmatch(path))


def known(method: str, path: str) -> bool:
    """Tell whether the page has any use for this.

    >>> known("POST", "/gradio_api/queue/join"), known("POST", "/gradio_api/upload")
    (True, False)
    """
    if file(method, path):
        return True
    open_to = {"GET": GET, "HEAD": GET, "POST": POST}.get(method)
    return open_to is not None and bool(open_to.fullmatch(path))
