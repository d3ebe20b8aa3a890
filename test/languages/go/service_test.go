// Package languages calls the service of hard shapes with the clients of oapi-codegen and ogen.
package languages

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/go-faster/jx"
)

var url = os.Getenv("TANDEM_URL")

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: got %#v, want %#v", what, got, want)
	}
}

// readTicks reads server-sent events: neither generator has a reader of them.
func readTicks(t *testing.T, body io.ReadCloser) {
	t.Helper()
	defer body.Close()
	var events []string
	for lines := bufio.NewScanner(body); lines.Scan(); {
		if line := lines.Text(); line != "" && !strings.HasPrefix(line, ":") {
			events = append(events, line)
		}
	}
	equal(t, "events", events, []string{
		`data: {"kind":"cat","lives":0}`, `data: {"kind":"cat","lives":1}`, "event: result", `data: "end"`,
	})
}

// echoAll sends each value of each shape and compares what comes back. A known gap must be one: it fails if the
// generator can do it after all.
func echoAll(t *testing.T, client any, suffix string, gaps map[string]string) {
	text, err := os.ReadFile(os.Getenv("TANDEM_VALUES"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string][]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	for shape, all := range values {
		var fault string
		for _, value := range all {
			if one := echo(client, "Shapes"+strings.ToUpper(shape[:1])+shape[1:]+suffix, value); one != "" {
				fault = one
			}
		}
		gap := gaps[shape]
		if (gap == "") != (fault == "") || !strings.Contains(fault, gap) {
			t.Errorf("%s: got %q, known is %q", shape, fault, gap)
		}
	}
}

// echo returns what went wrong.
func echo(client any, name string, value json.RawMessage) string {
	method := reflect.ValueOf(client).MethodByName(name)
	if !method.IsValid() {
		return "no method"
	}
	body := reflect.New(method.Type().In(1))
	if err := json.Unmarshal([]byte(`{"value":`+string(value)+`}`), body.Interface()); err != nil {
		return err.Error()
	}
	results := method.Call([]reflect.Value{reflect.ValueOf(context.Background()), body.Elem()})
	if err, _ := results[1].Interface().(error); err != nil {
		return err.Error()
	}
	answer := results[0]
	if answer.Kind() == reflect.Pointer && answer.Elem().Kind() == reflect.Struct {
		if result := answer.Elem().FieldByName("JSON200"); result.IsValid() {
			answer = result
		}
	}
	text, err := json.Marshal(withoutRaw(answer.Interface()))
	if err != nil {
		return err.Error()
	}
	var got, want any
	if json.Unmarshal(text, &got) != nil || json.Unmarshal(value, &want) != nil {
		return "no JSON: " + string(text)
	}
	if !reflect.DeepEqual(got, want) {
		return string(text) + " instead of " + string(value)
	}
	return ""
}

// withoutRaw makes JSON of the type that ogen has for it, which encoding/json takes for bytes.
func withoutRaw(value any) any {
	switch value := value.(type) {
	case jx.Raw:
		return json.RawMessage(value)
	case []jx.Raw:
		texts := make([]json.RawMessage, len(value))
		for i, one := range value {
			texts[i] = json.RawMessage(one)
		}
		return texts
	}
	return value
}
