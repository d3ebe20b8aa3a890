"""The models of datamodel-code-generator, with httpx."""

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import models
from models import (
    Problem,
    QueryFlatParametersQuery,
    QueryFlatResponse,
    SaveRequest,
    SaveResponse,
    ShapesPetsRequest,
    ShapesPetsResponse,
    Taken,
)
from pydantic import BaseModel, TypeAdapter

client = httpx.Client(base_url=os.environ["TANDEM_URL"])


def post(path: str, body: BaseModel) -> httpx.Response:
    content = body.model_dump_json(exclude_unset=True)
    return client.post(path, content=content, headers={"content-type": "application/json"})


def queries() -> None:
    query = QueryFlatParametersQuery(text="a", size=3, tags=["b,c", "d"])
    answer = client.get("/api/query.flat", params=query.model_dump(exclude_unset=True))
    assert QueryFlatResponse.model_validate_json(answer.content).root == ["a", "b,c", "d"]


def errors() -> None:
    answer = post("/api/save", SaveRequest(name="taken"))
    assert answer.status_code == 409
    problem = SaveResponse.model_validate_json(answer.content).root
    assert isinstance(problem, Taken)
    assert problem.data.by == "ann"
    assert post("/api/save", SaveRequest(name="ann")).status_code == 204
    wrong = client.post("/api/save", json={"name": 5})
    assert Problem.model_validate_json(wrong.content).code == -32602


def raw_bytes() -> None:
    octets = {"content-type": "application/octet-stream"}
    put = client.post("/api/bytes.put", params={"id": 7}, content=b"\x00\xff", headers=octets)
    assert put.json() == 9
    png = client.get("/api/bytes.png", params={"id": 7})
    assert (png.headers["content-type"], png.content) == ("image/png", b"\x07")


def stream() -> None:
    cats: list[models.Cat] = []
    event = ""
    with client.stream("GET", "/api/stream.ticks", params={"n": 2}) as answer:
        for line in answer.iter_lines():
            name, _, text = line.partition(": ")
            if name == "event":
                event = text
            elif name == "data" and event == "":
                cats.append(models.Cat.model_validate_json(text))
    assert [cat.lives for cat in cats] == [0, 1]
    assert event == "result"


def unions() -> None:
    answer = post("/api/shapes.pets", ShapesPetsRequest(value=models.FarmDog(kind="dog", good=True)))
    pet = ShapesPetsResponse.model_validate_json(answer.content).root
    assert isinstance(pet, models.FarmDog)


def shapes() -> None:
    values: dict[str, list[Any]] = json.loads(Path(os.environ["TANDEM_VALUES"]).read_text())
    for shape, all_values in values.items():
        name = f"Shapes{shape[0].upper()}{shape[1:]}"
        request = getattr(models, f"{name}Request")
        # A type that has a name of its own has no other one.
        response = getattr(models, f"{name}Response", None)
        for value in all_values:
            answer = post(f"/api/shapes.{shape}", request.model_validate({"value": value}))
            assert answer.status_code == 200, (shape, answer.text)
            assert plain(answer.json()) == plain(value), (shape, value, answer.text)
            if response is not None:
                TypeAdapter(response).validate_json(answer.content)


def plain(value: Any) -> Any:
    """JSON, with times as such: they may be written in several ways."""
    is_time = isinstance(value, str) and value.startswith("2026-")
    return datetime.fromisoformat(value) if is_time else value


for step in (queries, errors, raw_bytes, stream, unions, shapes):
    step()
