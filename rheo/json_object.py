"""The type of a JSON object: what files, messages and a browser hold before it is checked."""

from typing import Any

JsonObject = dict[str, Any]
