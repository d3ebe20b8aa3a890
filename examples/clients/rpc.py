"""A client of JSON-RPC 2.0 over HTTP: calls, batches, streams, timeouts. It needs Python 3.9 and nothing else."""
import http.client
import itertools
import json
import urllib.error
import urllib.request

# No answer, so nobody knows whether the call ran. Only calls that may run twice are safe to repeat.
LOST = (OSError, http.client.HTTPException, ValueError)
SILENCE = 60  # Seconds without a byte after which a connection is lost. A quiet stream has a comment every 15 s.


class RpcError(Exception):
    """What the service answered instead of a result."""

    def __init__(self, error):
        super().__init__(f"{error['message']} ({error['code']})")
        self.code, self.message, self.data = error["code"], error["message"], error.get("data")


class Rpc:
    def __init__(self, url, headers=None):
        self.url, self.headers, self.ids = url, headers or {}, itertools.count(1)

    def call(self, method, params=None, timeout=None):
        """timeout: seconds after which the service stops the call, with RpcError -32001"""
        return result_of(self._send(self._request(method, params), timeout))

    def batch(self, calls, timeout=None):
        """calls: pairs of a method and its params. Returns a result or an RpcError for each, in their order."""
        requests = [self._request(method, params) for method, params in calls]
        replies = self._send(requests, timeout)
        if isinstance(replies, dict):  # One error for the whole batch.
            return result_of(replies)
        by_id = {reply["id"]: reply for reply in replies}
        ordered = [by_id[request["id"]] for request in requests]
        return [RpcError(one["error"]) if "error" in one else one["result"] for one in ordered]

    def stream(self, method, params=None, timeout=None):
        """Yields each value. `result = yield from rpc.stream(...)` gives the result. close() ends the stream."""
        with self._open(self._request(method, params), timeout, "text/event-stream") as answer:
            if answer.headers.get_content_type() != "text/event-stream":
                return result_of(json.load(answer))
            for line in answer:
                if line.startswith(b"data: "):
                    message = json.loads(line[6:])
                    if "method" not in message:
                        return result_of(message)
                    yield message["params"]["result"]
        raise ConnectionError("the stream ended without a result")

    def _request(self, method, params):
        return {"jsonrpc": "2.0", "id": next(self.ids), "method": method, "params": params or {}}

    def _open(self, body, timeout, accept="application/json"):
        headers = {**self.headers, "content-type": "application/json", "accept": accept}
        if timeout is not None:
            headers["rpc-timeout-ms"] = str(max(1, round(timeout * 1000)))
        data = json.dumps(body, allow_nan=False).encode()
        try:
            return urllib.request.urlopen(urllib.request.Request(self.url, data, headers), timeout=SILENCE)
        except urllib.error.HTTPError as refusal:  # Its body is an error of JSON-RPC, too.
            return refusal

    def _send(self, body, timeout):
        with self._open(body, timeout) as answer:
            return json.load(answer)


def result_of(reply):
    if "error" in reply:
        raise RpcError(reply["error"])
    return reply["result"]
