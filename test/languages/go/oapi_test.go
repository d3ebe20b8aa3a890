package languages

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	"example.com/languages/oapi"
)

func oapiClient(t *testing.T) *oapi.ClientWithResponses {
	client, err := oapi.NewClientWithResponses(url)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestOapiQueries(t *testing.T) {
	size, tags := 3, []string{"b,c", "d"}
	params := &oapi.QueryFlatParams{Text: "a", Size: &size, Tags: &tags}
	answer, err := oapiClient(t).QueryFlatWithResponse(context.Background(), params)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "rows", *answer.JSON200, []string{"a", "b,c", "d"})
}

func TestOapiErrors(t *testing.T) {
	ctx, client := context.Background(), oapiClient(t)
	answer, err := client.SaveWithResponse(ctx, oapi.SaveJSONRequestBody{Name: "taken"})
	if err != nil {
		t.Fatal(err)
	}
	problem, err := answer.ApplicationproblemJSON409.ValueByDiscriminator()
	if err != nil {
		t.Fatal(err)
	}
	taken, isTaken := problem.(oapi.Taken)
	equal(t, "kind of error", isTaken, true)
	equal(t, "data", taken.Data.By, "ann")

	saved, err := client.SaveWithResponse(ctx, oapi.SaveJSONRequestBody{Name: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "status", saved.StatusCode(), 204)

	wrong, err := client.SaveWithBodyWithResponse(ctx, "application/json", strings.NewReader(`{"name":5}`))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "code", wrong.ApplicationproblemJSON400.Code, -32602)
}

func TestOapiBytes(t *testing.T) {
	ctx, client := context.Background(), oapiClient(t)
	put, err := client.BytesPutWithBodyWithResponse(ctx, &oapi.BytesPutParams{Id: 7},
		"application/octet-stream", bytes.NewReader([]byte{0, 255}))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "result", *put.JSON200, 9)

	png, err := client.BytesPngWithResponse(ctx, &oapi.BytesPngParams{Id: 7})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "type", png.ContentType(), "image/png")
	equal(t, "bytes", png.Body, []byte{7})

	var body oapi.ShapesBytesJSONRequestBody
	body.Value.Data = []byte{0, 255}
	echo, err := client.ShapesBytesWithResponse(ctx, body)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "bytes in JSON", echo.JSON200.Data, []byte{0, 255})
}

func TestOapiStream(t *testing.T) {
	answer, err := oapiClient(t).StreamTicks(context.Background(), &oapi.StreamTicksParams{N: 2})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "status", answer.StatusCode, http.StatusOK)
	readTicks(t, answer.Body)
}

func TestOapiUnions(t *testing.T) {
	var body oapi.ShapesPetsJSONRequestBody
	if err := body.Value.FromCat(oapi.Cat{Lives: 7}); err != nil {
		t.Fatal(err)
	}
	answer, err := oapiClient(t).ShapesPetsWithResponse(context.Background(), body)
	if err != nil {
		t.Fatal(err)
	}
	cat, err := answer.JSON200.AsCat()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "lives", cat.Lives, 7)
}

func TestOapiShapes(t *testing.T) {
	// A result that is null is read as the zero value of its type; the bytes are in Body.
	echoAll(t, oapiClient(t), "WithResponse", map[string]string{
		"nullable":          `"" instead of null`,
		"nullableFirst":     "0 instead of null",
		"nullableReference": `{"kind":"","lives":0} instead of null`,
		"petsOrNull":        "{} instead of null",
		"textsOrNull":       `"" instead of null`,
		"textsWithin":       `"" instead of null`,
		"trueOrNull":        "false instead of null",
	})
}
