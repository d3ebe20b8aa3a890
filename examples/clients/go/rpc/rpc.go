// Package rpc is a client of JSON-RPC 2.0 over HTTP: calls, batches, streams, timeouts. It needs Go's standard library alone.
package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Error is what the service answered instead of a result. With any other error nobody knows whether the call ran.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Client may be used by many goroutines. The deadline of a context is told to the service, which stops the call (-32001).
type Client struct {
	URL    string
	Header http.Header // sent with each request
	HTTP   http.Client
	ids    atomic.Int64
}

// Request is a call of a batch. Nil params are none.
type Request struct {
	Method string
	Params any
}

// Reply has a result or an error.
type Reply struct {
	Result json.RawMessage `json:"result"`
	Err    *Error          `json:"error"`
}

// Into decodes the result, or returns the error.
func (r Reply) Into(result any) error {
	if r.Err != nil {
		return r.Err
	}
	return json.Unmarshal(r.Result, result)
}

// Call decodes the result of one call into result, a pointer.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	var reply Reply
	if err := c.send(ctx, c.request(Request{method, params}), &reply); err != nil {
		return err
	}
	return reply.Into(result)
}

// Batch returns the replies in the order of the calls.
func (c *Client) Batch(ctx context.Context, calls ...Request) (replies []Reply, err error) {
	requests := make([]any, len(calls))
	for i, call := range calls {
		requests[i] = c.request(call)
	}
	var body json.RawMessage
	if err := c.send(ctx, requests, &body); err != nil {
		return nil, err
	}
	if refusal := (Reply{}); json.Unmarshal(body, &refusal) == nil { // no list: one error for the whole batch
		return nil, refusal.Err
	}
	err = json.Unmarshal(body, &replies)
	return replies, err
}

// Stream gives each value to the function, and decodes the result of the stream. An error of the function ends the stream.
func (c *Client) Stream(ctx context.Context, method string, params any, value func(json.RawMessage) error, result any) error {
	answer, err := c.post(ctx, c.request(Request{method, params}), "text/event-stream")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	isStream := strings.HasPrefix(answer.Header.Get("content-type"), "text/event-stream")
	for lines := bufio.NewReader(answer.Body); ; {
		line, err := lines.ReadBytes('\n')
		data, isEvent := bytes.CutPrefix(line, []byte("data: "))
		if isStream && err != nil {
			return fmt.Errorf("the stream ended without a result: %w", err)
		} else if isStream && !isEvent {
			continue
		}
		var message struct {
			Reply
			Params *struct{ Result json.RawMessage }
		}
		if err := json.Unmarshal(data, &message); err != nil {
			return err
		} else if message.Params == nil { // the last event, or an error before the first
			return message.Into(result)
		} else if err := value(message.Params.Result); err != nil {
			return err
		}
	}
}

func (c *Client) request(call Request) map[string]any {
	request := map[string]any{"jsonrpc": "2.0", "id": c.ids.Add(1), "method": call.Method}
	if call.Params != nil {
		request["params"] = call.Params
	}
	return request
}

func (c *Client) send(ctx context.Context, body, reply any) error {
	answer, err := c.post(ctx, body, "application/json")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return json.NewDecoder(answer.Body).Decode(reply) // a refusal (413, 503) is an error of JSON-RPC, too
}

func (c *Client) post(ctx context.Context, body any, accept string) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if c.Header != nil {
		post.Header = c.Header.Clone()
	}
	post.Header.Set("content-type", "application/json")
	post.Header.Set("accept", accept)
	if deadline, has := ctx.Deadline(); has {
		post.Header.Set("rpc-timeout-ms", strconv.FormatInt(max(1, time.Until(deadline).Milliseconds()), 10))
	}
	return c.HTTP.Do(post)
}
