import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { replyText } from '../../src/core/protocol/reply.ts';
import { keptOutcome, ResultFault } from '../../src/core/schema/result.ts';

/** Counts how often its member is read: once by JSON.stringify, again by who looks for what is lost. */
class Watched {
  reads = 0;
  readonly value = Object.defineProperty({}, 'a', {
    enumerable: true,
    get: () => {
      this.reads++;
      return 1;
    },
  });
}

describe('the outcome of a result of which nothing is declared', () => {
  test('has the reply that its text makes, with the id to the letter', () => {
    for (const id of ['1', '9007199254740993', '"{}"', 'null']) {
      const outcome = keptOutcome([{ a: 1 }], id);
      assert.equal(replyText(id, outcome), `{"jsonrpc":"2.0","id":${id},"result":[{"a":1}]}`);
      assert.equal(outcome.text, '[{"a":1}]');
    }
  });

  test('is looked through for what is lost where its own text has a mark, not where the id has one', () => {
    const plain = new Watched();
    keptOutcome(plain.value, '"{}"');
    keptOutcome(plain.value, '"{\\"0\\":"');
    assert.equal(plain.reads, 2);
    const marked = new Watched();
    keptOutcome([marked.value, {}], '1');
    assert.equal(marked.reads, 2);
  });

  test('is a fault where something is lost, first or last, with an id and without', () => {
    for (const id of ['1', undefined]) {
      for (const lost of [new Map(), [new Set()], { a: 1, b: [{}, Promise.resolve()] }])
        assert.throws(() => keptOutcome(lost, id), ResultFault);
      for (const bytes of [new Uint8Array(1), { a: Buffer.from('x') }])
        assert.throws(() => keptOutcome(bytes, id), ResultFault);
    }
  });

  test('is a fault where something is lost after a million parts', () => {
    const parts: object[] = Array.from({ length: 1_000_001 }, () => ({}));
    parts.push(new Map());
    assert.throws(() => keptOutcome(parts, '1'), {
      name: 'ResultFault',
      message: /^the result at \/1000001 is a Map/,
    });
  });

  test('tells of accessors after thousands of parts, and refuses what is lost after them', () => {
    class Person {
      get initials(): string {
        return 'AE';
      }
      first = 'Ann';
    }
    const people = { rows: [...Array.from({ length: 5000 }, () => ({ a: 1 })), new Person()] };
    const details: string[] = [];
    keptOutcome(people, '1', (detail) => details.push(detail));
    assert.equal(details.length, 1);
    assert.match(String(details[0]), /^the result at \/rows\/5000 is a Person.*\(initials\)/);
    assert.throws(
      () => keptOutcome([people, new Set()], '1', (detail) => details.push(detail)),
      /^ResultFault: the result at \/1 is a Set/,
    );
    assert.equal(details.length, 1);
  });

  test('is looked through as deep as JSON.stringify goes', () => {
    const nested = (depth: number): object => {
      let value: object = {};
      for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { a: value };
      return value;
    };
    let depth = 1000;
    try {
      for (; ; depth += 250) JSON.stringify(nested(depth));
    } catch (error) {
      assert.ok(error instanceof RangeError);
    }
    assert.equal(keptOutcome(nested(depth - 500), '1', () => {}).ok, true);
  });

  test('may be bytes of a class that says how JSON writes them', () => {
    class Text extends Uint8Array {
      toJSON(): string {
        return Buffer.from(this).toString('base64');
      }
    }
    assert.equal(keptOutcome([new Text(3)], '1', () => {}).text, '["AAAA"]');
  });
});
