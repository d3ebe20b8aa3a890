import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createPeers } from '../../../src/server/http/edge/peer.ts';

const trustedProxies = ['10.0.0.0/8', '192.0.2.7', 'fd00::/8'];
const peers = createPeers({ trustedProxies, socket: '' });
const proxy = '10.1.2.3';

const byForwarded = (forwarded: string, connection = proxy) =>
  peers?.addressOf(connection, { forwarded, forwardedFor: undefined });
const byForwardedFor = (forwardedFor: string, connection = proxy) =>
  peers?.addressOf(connection, { forwarded: undefined, forwardedFor });

type Rows = readonly (readonly [header: string, address: string])[];

const forwardedFor: Rows = [
  ['203.0.113.5', '203.0.113.5'],
  [' 203.0.113.5\t', '203.0.113.5'],
  ['203.0.113.5:4711', '203.0.113.5'],
  ['"203.0.113.5"', '203.0.113.5'],
  ['2001:db8::1', '2001:db8::1'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['[2001:db8::1]:4711', '2001:db8::1'],
  ['2001:DB8:0:0::1', '2001:db8::1'],
  ['::ffff:203.0.113.5', '203.0.113.5'],
  ['::ffff:cb00:7105', '203.0.113.5'],
  ['[::ffff:203.0.113.5]:80', '203.0.113.5'],
  // What stands left of the rightmost one that is no proxy's, anybody may have written.
  ['127.0.0.1, 203.0.113.5', '203.0.113.5'],
  ['198.51.100.1,203.0.113.5,10.9.9.9', '203.0.113.5'],
  ['198.51.100.1, 203.0.113.5, fd12::1, 192.0.2.7', '203.0.113.5'],
  ['203.0.113.5, ::ffff:10.9.9.9', '203.0.113.5'],
  ['"open, 203.0.113.5', '203.0.113.5'],
  ['unknown, 203.0.113.5', '203.0.113.5'],
  [`${'x'.repeat(10_000)}, 203.0.113.5`, '203.0.113.5'],
  // Nothing that could be believed: the connection's address stays.
  ['', proxy],
  [',', proxy],
  ['203.0.113.5,', proxy],
  ['unknown', proxy],
  ['_hidden', proxy],
  ['203.0.113.5, unknown', proxy],
  ['203.0.113.5, _hidden, 10.9.9.9', proxy],
  ['203.0.113.256', proxy],
  ['203.0.113', proxy],
  ['0x7f.1', proxy],
  ['017700000001', proxy],
  ['203.0.113.5:', proxy],
  ['[203.0.113.5]', proxy],
  ['[2001:db8::1', proxy],
  ['2001:db8::1]', proxy],
  ['fe80::1%eth0', proxy],
  ['"203.0.113.5', proxy],
  ['localhost', proxy],
  ['203.0.113.5\0', proxy],
  ['x'.repeat(10_000), proxy],
  ['"'.repeat(10_001), proxy],
  [`"${'\\'.repeat(10_000)}"`, proxy],
  // All of them are proxies.
  ['10.9.9.9', proxy],
  [Array(2000).fill('10.9.9.9').join(), proxy],
];

const forwarded: Rows = [
  ['for=203.0.113.5', '203.0.113.5'],
  ['For="203.0.113.5:4711"', '203.0.113.5'],
  ['for="[2001:db8:cafe::17]:4711"', '2001:db8:cafe::17'],
  ['for="[2001:db8:cafe::17]:_port"', '2001:db8:cafe::17'],
  ['by=203.0.113.43; for=203.0.113.5 ;proto=http;host="a;for=1.2.3.4,b"', '203.0.113.5'],
  ['for=198.51.100.1, for=203.0.113.5', '203.0.113.5'],
  ['for=198.51.100.1, for=203.0.113.5;by=_p, for=10.9.9.9', '203.0.113.5'],
  ['for="203.\\0.113.5"', '203.0.113.5'],
  // A client's open quote takes nothing of what the proxy wrote behind it.
  ['for="198.51.100.1, for=203.0.113.5', '203.0.113.5'],
  ['for="198.51.100.1\\", for=203.0.113.5', '203.0.113.5'],
  ['host="x, for=203.0.113.5', '203.0.113.5'],
  ['for=unknown', proxy],
  ['for=_gazonk', proxy],
  ['for="_gazonk:_port"', proxy],
  ['for=203.0.113.5, for=unknown', proxy],
  ['for=203.0.113.5, proto=https', proxy],
  ['for=203.0.113.5;for=198.51.100.1', proxy],
  ['203.0.113.5', proxy],
  ['for=', proxy],
  ['for', proxy],
  ['=203.0.113.5', proxy],
  ['for="203.0.113.5', proxy],
  ['for=203.0.113.5"', proxy],
  ['for="203.0.113.5"x', proxy],
  ['xfor=203.0.113.5', proxy],
  [';;;;', proxy],
  [`for=${' '.repeat(10_000)}"`, proxy],
  [`${'a'.repeat(16_000)}`, proxy],
  [`for="${'\\"'.repeat(8000)}`, proxy],
];

describe('the address of a caller behind trusted proxies', () => {
  test('none is trusted where none is named', () =>
    assert.equal(createPeers({ trustedProxies: [], socket: '' }), undefined));

  for (const [header, address] of forwardedFor) {
    const shown = JSON.stringify(header.slice(0, 60));
    test(`X-Forwarded-For: ${shown}: ${address}`, () => {
      assert.equal(byForwardedFor(header), address);
    });
  }
  for (const [header, address] of forwarded) {
    const shown = JSON.stringify(header.slice(0, 60));
    test(`Forwarded: ${shown}: ${address}`, () => assert.equal(byForwarded(header), address));
  }

  test('is the connection where that is no trusted proxy, whatever the headers say', () => {
    for (const connection of ['203.0.113.9', '192.0.2.8', '2001:db8::9', '11.0.0.1', undefined]) {
      for (const header of ['198.51.100.1', 'for=198.51.100.1', 'for=10.0.0.1', '10.0.0.1']) {
        const headers = { forwarded: header, forwardedFor: header };
        assert.equal(peers?.addressOf(connection, headers), connection);
      }
    }
  });

  test('goes by a proxy in either family, however its address is written', () => {
    for (const connection of [
      '192.0.2.7',
      'fd12:3456::1',
      'fd12:3456:0000:0000:0000:0000:0000:0001',
    ]) {
      assert.equal(byForwardedFor('203.0.113.5', connection), '203.0.113.5', connection);
    }
  });

  test('is told by one header, or by both where they agree', () => {
    const both = (one: string, other: string) =>
      peers?.addressOf(proxy, { forwarded: one, forwardedFor: other });
    assert.equal(both('for=203.0.113.5', '203.0.113.5'), '203.0.113.5');
    assert.equal(both('for="[::ffff:203.0.113.5]"', '1.1.1.1, 203.0.113.5'), '203.0.113.5');
    // The one that the proxy does not write is its client's.
    assert.equal(both('for=203.0.113.5', '198.51.100.1'), proxy);
    assert.equal(both('for=unknown', '198.51.100.1'), proxy);
    assert.equal(both('for=203.0.113.5', ''), proxy);
  });

  test('is looked for in a time in proportion to the header', () => {
    // Counted in calls that a regular expression that backtracks would turn into minutes.
    for (const piece of ['for="\\', 'for= ', '"', ',', ';', 'a', '10.0.0.1,', 'for=10.0.0.1,']) {
      const header = piece.repeat(Math.floor(1_000_000 / piece.length));
      assert.equal(byForwarded(header), proxy);
      assert.equal(byForwardedFor(header), proxy);
    }
  });
});
