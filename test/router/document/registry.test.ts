import assert from 'node:assert/strict';
import { test } from 'node:test';
import shop from '../../../examples/procedures.ts';
import { openRpcOfRegistry } from '../../../src/core/procedures/document/openrpc.ts';
import { getRegistrySchema, Router } from '../../../src/index.ts';
import everyKind from '../../fixtures/codegen/every-kind.ts';
import { openRpcFaults } from './validator.ts';

test('an OpenRPC document made of an introspection document is valid for every kind of schema', () => {
  for (const router of [everyKind, shop, new Router()]) {
    const registry = JSON.parse(JSON.stringify(getRegistrySchema(router))) as never;
    assert.deepEqual(openRpcFaults(JSON.parse(JSON.stringify(openRpcOfRegistry(registry)))), []);
  }
});
