package languages

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"example.com/languages/ogen"
)

func ogenClient(t *testing.T) *ogen.Client {
	client, err := ogen.NewClient(url)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestOgenQueries(t *testing.T) {
	params := ogen.QueryFlatParams{Text: "a", Size: ogen.NewOptInt(3), Tags: []string{"b,c", "d"}}
	rows, err := ogenClient(t).QueryFlat(context.Background(), params)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "rows", rows, []string{"a", "b,c", "d"})
}

func TestOgenErrors(t *testing.T) {
	ctx, client := context.Background(), ogenClient(t)
	answer, err := client.Save(ctx, &ogen.SaveReq{Name: "taken"})
	if err != nil {
		t.Fatal(err)
	}
	conflict, isConflict := answer.(*ogen.SaveConflict)
	equal(t, "kind of answer", isConflict && conflict.IsTaken(), true)
	equal(t, "data", conflict.Taken.Data.By, "ann")

	saved, err := client.Save(ctx, &ogen.SaveReq{Name: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	_, isDone := saved.(*ogen.SaveNoContent)
	equal(t, "kind of answer", isDone, true)

	_, err = client.QueryFlat(ctx, ogen.QueryFlatParams{Text: "a", Size: ogen.NewOptInt(-1)})
	var problem *ogen.ProblemStatusCode
	equal(t, "kind of error", errors.As(err, &problem), true)
	equal(t, "status", problem.StatusCode, 400)
	equal(t, "code", problem.Response.Code, -32602)
}

func TestOgenBytes(t *testing.T) {
	ctx, client := context.Background(), ogenClient(t)
	body := ogen.BytesPutReq{Data: bytes.NewReader([]byte{0, 255})}
	put, err := client.BytesPut(ctx, body, ogen.BytesPutParams{ID: 7})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "result", put, 9)

	png, err := client.BytesPNG(ctx, ogen.BytesPNGParams{ID: 7})
	if err != nil {
		t.Fatal(err)
	}
	image, isImage := png.(*ogen.BytesPNGOKImagePNG)
	equal(t, "kind of answer", isImage, true)
	read, err := io.ReadAll(image)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "bytes", read, []byte{7})

	in := ogen.ShapesBytesReq{Value: ogen.Value2{Data: []byte{0, 255}}}
	echo, err := client.ShapesBytes(ctx, &in)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "bytes in JSON", echo.Data, []byte{0, 255})
}

func TestOgenStream(t *testing.T) {
	ctx := context.Background()
	stream, err := ogenClient(t).StreamTicks(ctx, ogen.StreamTicksParams{N: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for lives := range 2 {
		event, err := stream.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "lives", event.Data.Lives, lives)
	}
	// The result has another type than the values, and the client does not tell it from an error.
	if event, err := stream.Next(ctx); err == nil {
		t.Fatalf("got %v, want an error", event)
	}
}

func TestOgenUnions(t *testing.T) {
	body := ogen.ShapesPetsReq{Value: ogen.NewCatShapesPetsReqValue(ogen.Cat{Lives: 7, Kind: "cat"})}
	pet, err := ogenClient(t).ShapesPets(context.Background(), &body)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "kind of pet", pet.IsCat(), true)
	equal(t, "lives", pet.Cat.Lives, 7)
}

func TestOgenShapes(t *testing.T) {
	echoAll(t, ogenClient(t), "", map[string]string{
		// Unions of objects that no text tells apart have no functions.
		"objectsWithoutTag": "no method",
		"outcomes":          "no method",
		// A type that holds itself or null is read as if it were never null.
		"recursiveWithoutName": "decode Value",
		// Times have no fractions of seconds.
		"time": `"2026-01-02T03:04:05Z" instead of`,
	})
}
