// Calls by examples/clients/go/rpc; prints one line of JSON for each case.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"example.com/rpc-client/rpc"
)

type object = map[string]any

func outcome(result any, err error) object {
	var refused *rpc.Error
	switch {
	case err == nil:
		return object{"result": result}
	case errors.As(err, &refused):
		return object{"code": refused.Code, "message": refused.Message, "data": refused.Data}
	default:
		return object{"lost": true}
	}
}

func show(name string, result any, err error) {
	line, err := json.Marshal(object{name: outcome(result, err)})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

func call(ctx context.Context, c *rpc.Client, name, method string, params any) {
	var result any
	err := c.Call(ctx, method, params, &result)
	show(name, result, err)
}

func collect(ctx context.Context, c *rpc.Client, name, method string, params any) {
	values := []any{}
	var result any
	err := c.Stream(ctx, method, params, func(value json.RawMessage) error {
		values = append(values, value)
		return nil
	}, &result)
	last := outcome(result, err)
	delete(last, "message")
	delete(last, "data")
	show(name, append(values, last), nil)
}

func main() {
	ctx := context.Background()
	client := &rpc.Client{URL: os.Getenv("SERVICE"), Header: http.Header{"Authorization": {"Bearer secret"}}}
	proxy := os.Getenv("PROXY")
	soon := func() context.Context {
		late, _ := context.WithTimeout(ctx, 300*time.Millisecond) //nolint: the process ends
		return late
	}

	call(ctx, client, "call", "divide", object{"a": 1, "b": 4})
	call(ctx, client, "no params, no result", "nothing", nil)
	call(ctx, client, "declared error", "divide", object{"a": 1, "b": 0})
	call(ctx, client, "invalid params", "divide", object{"a": 1, "b": "x"})
	call(ctx, client, "unknown", "divid", nil)
	call(ctx, client, "header", "who", nil)

	replies, err := client.Batch(ctx,
		rpc.Request{Method: "divide", Params: object{"a": 1, "b": 2}},
		rpc.Request{Method: "divide", Params: object{"a": 1, "b": 0}},
		rpc.Request{Method: "nothing"})
	outcomes := []any{}
	for _, reply := range replies {
		var result any
		one := outcome(&result, reply.Into(&result))
		delete(one, "message")
		delete(one, "data")
		outcomes = append(outcomes, one)
	}
	show("batch", outcomes, err)
	nothing := rpc.Request{Method: "nothing"}
	_, err = client.Batch(ctx, nothing, nothing, nothing, nothing)
	show("batch refused", nil, err)
	call(ctx, client, "too large", "nothing", object{"text": strings.Repeat("x", 20_000)})

	collect(ctx, client, "stream", "countdown", object{"from": 3})
	collect(ctx, client, "stream fails", "fails", object{"from": 7})
	collect(ctx, client, "no stream", "unknown", nil)
	var first json.RawMessage
	left := errors.New("enough")
	err = client.Stream(ctx, "waits", object{"from": 5}, func(value json.RawMessage) error {
		first = value
		return left
	}, nil)
	if errors.Is(err, left) {
		err = nil
	}
	show("stream left", first, err)

	call(ctx, &rpc.Client{URL: proxy + "/page"}, "proxy's page", "nothing", nil)
	call(ctx, &rpc.Client{URL: proxy + "/cut"}, "cut", "nothing", nil)
	collect(ctx, &rpc.Client{URL: proxy + "/stream"}, "stream cut", "countdown", object{"from": 3})
	call(ctx, &rpc.Client{URL: os.Getenv("NOBODY")}, "nobody", "nothing", nil)

	// The service's answer and the client's own end of the wait come at about the same time.
	var result any
	err = client.Call(soon(), "spin", nil, &result)
	var refused *rpc.Error
	isLate := errors.Is(err, context.DeadlineExceeded) || errors.As(err, &refused) && refused.Code == -32001
	show("deadline", isLate, nil)
}
