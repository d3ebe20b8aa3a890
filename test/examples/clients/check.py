"""Calls by examples/clients/rpc.py; prints one line of JSON for each case."""
import json
import os

from rpc import LOST, Rpc, RpcError

service, proxy, nobody = (os.environ[name] for name in ("SERVICE", "PROXY", "NOBODY"))
rpc = Rpc(service, headers={"authorization": "Bearer secret"})


def show(name, attempt):
    try:
        outcome = {"result": attempt()}
    except RpcError as error:
        outcome = {"code": error.code, "message": error.message, "data": error.data}
    except LOST:
        outcome = {"lost": True}
    print(json.dumps({name: outcome}))


def one_of_batch(one):
    return {"code": one.code} if isinstance(one, RpcError) else {"result": one}


def collect(client, method, params, timeout=None):
    values = []

    def run():
        result = yield from client.stream(method, params, timeout)
        values.append({"result": result})

    try:
        for value in run():
            values.append(value)
    except RpcError as error:
        values.append({"code": error.code})
    except LOST:
        values.append({"lost": True})
    return values


def close_early():
    stream = rpc.stream("waits", {"from": 5})
    first = next(stream)
    stream.close()
    return first


show("call", lambda: rpc.call("divide", {"a": 1, "b": 4}))
show("no params, no result", lambda: rpc.call("nothing"))
show("declared error", lambda: rpc.call("divide", {"a": 1, "b": 0}))
show("invalid params", lambda: rpc.call("divide", {"a": 1, "b": "x"}))
show("unknown", lambda: rpc.call("divid"))
show("header", lambda: rpc.call("who"))
show("deadline", lambda: rpc.call("spin", timeout=0.3))
calls = [("divide", {"a": 1, "b": 2}), ("divide", {"a": 1, "b": 0}), ("nothing", None)]
show("batch", lambda: [one_of_batch(one) for one in rpc.batch(calls)])
show("batch refused", lambda: rpc.batch([("nothing", None)] * 4))
show("too large", lambda: rpc.call("nothing", {"text": "x" * 20_000}))
show("stream", lambda: collect(rpc, "countdown", {"from": 3}))
show("stream fails", lambda: collect(rpc, "fails", {"from": 7}))
show("no stream", lambda: collect(rpc, "unknown", {}))
show("stream late", lambda: collect(rpc, "waits", {"from": 9}, 1.5))
show("stream left", close_early)
show("proxy's page", lambda: Rpc(proxy + "/page").call("nothing"))
show("cut", lambda: Rpc(proxy + "/cut").call("nothing"))
show("stream cut", lambda: collect(Rpc(proxy + "/stream"), "countdown", {"from": 3}))
show("nobody", lambda: Rpc(nobody).call("nothing"))
