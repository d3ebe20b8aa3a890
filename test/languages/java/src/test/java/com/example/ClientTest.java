package com.example;

import static java.util.Map.entry;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.example.api.BytesApi;
import com.example.api.DefaultApi;
import com.example.api.QueryApi;
import com.example.api.ShapesApi;
import com.example.api.StreamApi;
import com.example.client.ApiClient;
import com.example.client.ApiException;
import com.example.client.JSON;
import com.example.model.Cat;
import com.example.model.Problem;
import com.example.model.Save409Response;
import com.example.model.SaveRequest;
import com.example.model.ShapesBytesRequest;
import com.example.model.ShapesPetsRequest;
import com.example.model.ShapesPetsRequestValue;
import com.example.model.Taken;
import com.example.model.Value2;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The client of openapi-generator: library okhttp-gson, which is its default one. */
class ClientTest {
  private static final ApiClient client = new ApiClient().setBasePath(System.getenv("TANDEM_URL"));

  @Test
  void sendsParamsInQuery() throws ApiException {
    List<String> tags = List.of("b,c", "d");
    List<String> rows = new QueryApi(client).queryFlat("a", 3, null, null, tags);
    assertEquals(List.of("a", "b,c", "d"), rows);
  }

  @Test
  void givesDeclaredError() throws Exception {
    DefaultApi api = new DefaultApi(client);
    ApiException error =
        assertThrows(ApiException.class, () -> api.save(new SaveRequest().name("taken")));
    assertEquals(409, error.getCode());
    Taken taken = Save409Response.fromJson(error.getResponseBody()).getTaken();
    assertEquals("ann", taken.getData().getBy());
    assertEquals(204, api.saveWithHttpInfo(new SaveRequest().name("ann")).getStatusCode());

    ApiException other =
        assertThrows(ApiException.class, () -> api.save(new SaveRequest().name("more than ten")));
    assertEquals("TooLong", Problem.fromJson(other.getResponseBody()).getName());
  }

  @Test
  void sendsAndReadsBytes() throws Exception {
    BytesApi api = new BytesApi(client);
    Path file = Files.createTempFile("tandem", ".bin");
    Files.write(file, new byte[] {0, -1});
    assertEquals(9, api.bytesPut(7, file.toFile()));
    assertArrayEquals(new byte[] {7}, Files.readAllBytes(api.bytesPng(7).toPath()));

    Value2 value = new Value2().data(new byte[] {0, -1});
    Value2 echo = new ShapesApi(client).shapesBytes(new ShapesBytesRequest().value(value));
    assertArrayEquals(value.getData(), echo.getData());
  }

  @Test
  void readsStream() throws Exception {
    List<String> events = new ArrayList<>();
    try (var answer = new StreamApi(client).streamTicksCall(2, null).execute()) {
      var lines = answer.body().source();
      for (String line = lines.readUtf8Line(); line != null; line = lines.readUtf8Line()) {
        if (line.startsWith("data: ")) events.add(line.substring("data: ".length()));
      }
    }
    assertEquals("\"end\"", events.remove(2));
    assertEquals(1, Cat.fromJson(events.get(1)).getLives());
  }

  @Test
  void typesUnions() throws Exception {
    Cat cat = new Cat().kind(Cat.KindEnum.CAT).lives(7);
    ShapesPetsRequest body = new ShapesPetsRequest().value(new ShapesPetsRequestValue(cat));
    assertEquals(7, new ShapesApi(client).shapesPets(body).getCat().getLives());
  }

  /** A part of what goes wrong, by shape. */
  private static final Map<String, String> gaps =
      Map.ofEntries(
          // It leaves out members that are null.
          entry("anything", "Bad Request"),
          entry("nullable", "Bad Request"),
          entry("nullableFirst", "Bad Request"),
          entry("nullableReference", "Bad Request"),
          entry("petsOrNull", "Bad Request"),
          entry("recursiveWithoutName", "Bad Request"),
          entry("severalTypes", "Bad Request"),
          entry("textsOrNull", "Bad Request"),
          entry("textsWithin", "Bad Request"),
          entry("trueOrNull", "Bad Request"),
          // Its integers have 32 bits.
          entry("integer", "Bad Request"),
          // Of a union it reads no empty array, no array of anything and no object of anything.
          entry("textOrTexts", "Not a JSON Primitive: []"),
          entry("listOfItself", "invalid for TextOrMany"),
          entry("literalsAmongOthers", "Not a JSON Primitive: {}"));

  @Test
  void carriesValuesOfEveryShape() throws Exception {
    ShapesApi api = new ShapesApi(client);
    String text = Files.readString(Path.of(System.getenv("TANDEM_VALUES")));
    JsonObject values = JsonParser.parseString(text).getAsJsonObject();
    List<String> wrong = new ArrayList<>();
    for (String shape : values.keySet()) {
      String name = "shapes" + Character.toUpperCase(shape.charAt(0)) + shape.substring(1);
      Method method =
          Arrays.stream(ShapesApi.class.getMethods())
              .filter(one -> one.getName().equals(name))
              .findAny()
              .orElseThrow();
      String fault = "";
      for (JsonElement value : values.getAsJsonArray(shape)) {
        String one = echo(api, method, value);
        if (!one.isEmpty()) fault = one;
      }
      String gap = gaps.getOrDefault(shape, "");
      if (gap.isEmpty() != fault.isEmpty() || !fault.contains(gap)) wrong.add(shape + ": " + fault);
    }
    assertEquals(List.of(), wrong);
  }

  /** Returns what went wrong. */
  private static String echo(ShapesApi api, Method method, JsonElement value) throws Exception {
    JsonObject body = new JsonObject();
    body.add("value", value);
    try {
      Object request = JSON.getGson().fromJson(body, method.getParameterTypes()[0]);
      Object result = method.invoke(api, request);
      JsonElement got = JsonParser.parseString(JSON.getGson().toJson(result));
      return got.equals(value) ? "" : got + " instead of " + value;
    } catch (InvocationTargetException thrown) {
      return thrown.getCause().getMessage().lines().findFirst().orElse("");
    } catch (RuntimeException thrown) {
      return String.valueOf(thrown.getMessage());
    }
  }
}
