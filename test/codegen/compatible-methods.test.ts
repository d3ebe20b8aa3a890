import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareMethods, runsCommands, told } from './command.ts';

const text = { type: 'string' };
const number = { type: 'number' };
const param = (name: string, schema: object, required = true) => ({ name, schema, required });
const method = (name: string, params: object[] = [], more: object = {}) => ({
  name,
  params,
  ...more,
});
const compared = async (before: object[], after: object[]) =>
  told(await compareMethods(before, after));

describe('procedures', () => {
  runsCommands();
  it('may be added, and may not be removed', async () => {
    const result = await compareMethods([method('a')], [method('b', [param('x', text)])]);
    assert.deepEqual([told(result), result.added], [['! a removed'], ['b']]);
  });

  it('that stand there under another name were renamed', async () => {
    const get = [param('id', text)];
    assert.deepEqual(await compared([method('users.get', get)], [method('people.get', get)]), [
      '! users.get removed; renamed to people.get?',
    ]);
    // Two of them: the one with the same last part.
    const two = [method('people.find', get), method('people.get', get)];
    assert.deepEqual(await compared([method('users.get', get)], two), [
      '! users.get removed; renamed to people.get?',
    ]);
    assert.deepEqual(await compared([method('users.get', get)], [method('people.get')]), [
      '! users.get removed',
    ]);
  });
});

describe('params', () => {
  runsCommands();
  it('may be added where they are optional', async () => {
    const a = param('a', text);
    assert.deepEqual(
      await compared([method('m', [a])], [method('m', [a, param('b', text, false)])]),
      [],
    );
    assert.deepEqual(await compared([method('m', [a])], [method('m', [a, param('b', text)])]), [
      '! m params.b it is required now',
    ]);
  });

  it('may not be removed, unless others are taken', async () => {
    const [a, b] = [param('a', text), param('b', text)];
    assert.deepEqual(await compared([method('m', [a, b])], [method('m', [a])]), [
      '! m params.b it is no longer taken',
    ]);
    const open = { 'x-additional-params': {} };
    assert.deepEqual(await compared([method('m', [a, b])], [method('m', [a], open)]), []);
    assert.deepEqual(await compared([method('m', [a], open)], [method('m', [a])]), [
      '! m params members of other names are no longer taken',
    ]);
  });

  it('keep their positions, as long as they were taken by position', async () => {
    const [a, b] = [param('a', text), param('b', text)];
    assert.deepEqual(await compared([method('m', [a, b])], [method('m', [b, a])]), [
      '! m params.a its position among positional arguments has changed',
      '! m params.b its position among positional arguments has changed',
    ]);
    const byName = { paramStructure: 'by-name' };
    assert.deepEqual(await compared([method('m', [a, b], byName)], [method('m', [b, a])]), []);
    assert.deepEqual(await compared([method('m', [a, b])], [method('m', [a, b], byName)]), [
      '? m params are positional arguments still taken, in the same order?',
    ]);
    assert.deepEqual(
      await compared([method('m', [a])], [method('m', [a], { paramStructure: 'by-position' })]),
      ['! m params they must be sent as an array now'],
    );
  });

  it('that are sent by position alone may change their names', async () => {
    const byPosition = { paramStructure: 'by-position' };
    const one = (name: string, schema: object) => method('m', [param(name, schema)], byPosition);
    assert.deepEqual(await compared([one('a', text)], [one('b', text)]), []);
    assert.deepEqual(await compared([one('a', text)], [one('b', number)]), [
      '! m params[0] it no longer takes a string',
    ]);
    assert.deepEqual(await compared([one('a', text)], [method('m', [], byPosition)]), [
      '! m params[0] it is no longer taken',
    ]);
    const two = method('m', [param('a', text), param('b', text)], byPosition);
    assert.deepEqual(await compared([one('a', text)], [two]), ['! m params[1] it is required now']);
  });
});

describe('declared errors', () => {
  runsCommands();
  const failing = (errors: object) => method('m', [], { 'x-errors': errors });
  it('keep their codes and their data; they may go, and others may come', async () => {
    const gone = { code: 410, message: 'Gone' };
    assert.deepEqual(await compared([failing({ Gone: gone })], [failing({ Other: gone })]), []);
    assert.deepEqual(
      await compared([failing({ Gone: gone })], [failing({ Gone: { ...gone, code: 411 } })]),
      ['! m errors.Gone code: was 410, is 411'],
    );
    const data = { ...gone, data: text };
    assert.deepEqual(await compared([failing({ Gone: data })], [failing({ Gone: gone })]), [
      '! m errors.Gone.data it is no longer sent',
    ]);
    assert.deepEqual(
      await compared([failing({ Gone: data })], [failing({ Gone: { ...gone, data: number } })]),
      ['! m errors.Gone.data it may be a number now'],
    );
  });
});

describe('streams', () => {
  runsCommands();
  const watching = (stream: object) => method('m', [], { 'x-stream': stream });
  it('give the values that they gave, or fewer', async () => {
    const either = { anyOf: [text, number] };
    assert.deepEqual(
      await compared([watching({ yields: either })], [watching({ yields: text })]),
      [],
    );
    assert.deepEqual(await compared([watching({ yields: text })], [watching({ yields: either })]), [
      '! m yields it may be a number now',
    ]);
    const item = (schema: object) => ({
      yields: { type: 'object', properties: { at: schema }, required: ['at'] },
    });
    assert.deepEqual(await compared([watching(item(text))], [watching(item(number))]), [
      '! m yields.at it may be a number now',
    ]);
  });

  it('stay streams, and nothing else becomes one', async () => {
    assert.deepEqual(await compared([watching({})], [method('m')]), [
      '! m it is no longer a stream',
    ]);
    assert.deepEqual(await compared([method('m')], [watching({})]), ['! m it is a stream now']);
    const [was, is] = [watching({ yields: text }), method('n')];
    assert.deepEqual(await compared([was], [is]), ['! m removed'], 'no stream was renamed to n');
  });

  it('keep the names of their notifications, and go on collecting', async () => {
    const names = { notification: 'a', unsubscribe: 'b', collect: true };
    assert.deepEqual(await compared([watching(names)], [watching(names)]), []);
    assert.deepEqual(await compared([watching(names)], [watching({ notification: 'c' })]), [
      '! m notification was a, is c',
      '! m unsubscribe was b, is gone',
      '! m it no longer answers with all values where it is not read as a stream',
    ]);
    assert.deepEqual(await compared([watching({ notification: 'a' })], [watching(names)]), []);
  });
});
