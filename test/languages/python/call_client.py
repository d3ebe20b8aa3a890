"""The client of openapi-python-client, whose package is `client`."""

import json
import os
from datetime import datetime
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx

from client import Client
from client.api.bytes_ import bytes_png, bytes_put
from client.api.default import save
from client.api.query import query_flat
from client.models import Problem, SaveBody, Taken
from client.types import File

URL = os.environ["TANDEM_URL"]
client = Client(base_url=URL)


def queries() -> None:
    rows = query_flat.sync(client=client, text="a", size=3, tags=["b,c", "d"])
    assert rows == ["a", "b,c", "d"], rows


def errors() -> None:
    answer = save.sync_detailed(client=client, body=SaveBody(name="taken"))
    assert answer.status_code == 409
    assert isinstance(answer.parsed, Taken)
    assert answer.parsed.data.by == "ann"
    assert save.sync_detailed(client=client, body=SaveBody(name="ann")).status_code == 204
    wrong = save.sync(client=client, body=SaveBody(name=5))  # type: ignore[arg-type]
    assert isinstance(wrong, Problem)
    assert (wrong.status, wrong.code) == (400, -32602)


def raw_bytes() -> None:
    assert bytes_put.sync(client=client, id=7, body=File(payload=BytesIO(b"\x00\xff"))) == 9
    png = bytes_png.sync(client=client, id=7)
    assert isinstance(png, File)
    assert png.payload.read() == b"\x07"


def stream() -> None:
    """The function of a stream would read all events as one value, so httpx reads them."""
    events: list[Any] = []
    with client.get_httpx_client().stream("GET", "/api/stream.ticks", params={"n": 2}) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: "):
                events.append(json.loads(line.removeprefix("data: ")))
    assert events == [{"kind": "cat", "lives": 0}, {"kind": "cat", "lives": 1}, "end"], events


def snake(name: str) -> str:
    return "".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in name)


def shapes() -> None:
    values: dict[str, list[Any]] = json.loads(Path(os.environ["TANDEM_VALUES"]).read_text())
    models = import_module("client.models")
    for shape, all_values in values.items():
        name = f"shapes_{snake(shape)}"
        module = import_module(f"client.api.shapes.{name}")
        body_type = getattr(models, f"Shapes{shape[0].upper()}{shape[1:]}Body")
        for value in all_values:
            body = body_type.from_dict({"value": value})
            answer = module.sync_detailed(client=client, body=body)
            assert answer.status_code == 200, (shape, answer)
            assert plain(answer.parsed) == plain(value), (shape, answer.parsed)


def plain(value: Any) -> Any:
    """JSON, with times as such: they may be written in several ways."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, str) and value.startswith("2026-"):
        return datetime.fromisoformat(value)
    return [plain(item) for item in value] if isinstance(value, list) else value


for step in (queries, errors, raw_bytes, stream, shapes):
    step()
