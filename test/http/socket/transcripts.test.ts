/**
 * Whole conversations over one WebSocket, line by line: what Ethereum clients say to a node, in this project's own words.
 * The shapes are those of the transcripts by which go-ethereum tests its server, and of the cases by which jsonrpsee tests
 * its own (jsonrpsee.md has the list). Where the servers differ, the line says why.
 */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Router, RpcError, Type } from '../../../src/index.ts';
import { serve } from '../../app/hooks/serve.ts';
import { servers } from '../../servers.ts';
import { RawSocket } from './raw-socket.ts';

const notJson = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}';
const invalid = '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}';

/** As many as no client sends. */
const blanks = ' '.repeat(200);

/**
 * `->` the client says, `<-` the server says, in this order. `SUB` is the id of the first subscription, `BLANKS` stands for
 * many blanks.
 */
const transcripts: Readonly<Record<string, string>> = {
  'params in the order that the procedure declares, the last one left out': `
    -> {"jsonrpc":"2.0","id":2,"method":"test_echo","params":["x",3]}
    <- {"jsonrpc":"2.0","id":2,"result":{"text":"x","number":3,"rest":null}}
    -> {"jsonrpc":"2.0","id":2,"method":"test_echo","params":["x",3,{"s":"foo"}]}
    <- {"jsonrpc":"2.0","id":2,"result":{"text":"x","number":3,"rest":{"s":"foo"}}}
    -> {"jsonrpc":"2.0","id":3,"method":"test_echo","params":{"number":3,"text":"x"}}
    <- {"jsonrpc":"2.0","id":3,"result":{"text":"x","number":3,"rest":null}}
  `,
  'a method without params, called with none, with an empty list, and with null': `
    -> {"jsonrpc":"2.0","id":"a","method":"test_nothing"}
    <- {"jsonrpc":"2.0","id":"a","result":null}
    -> {"jsonrpc":"2.0","id":"b","method":"test_nothing","params":[]}
    <- {"jsonrpc":"2.0","id":"b","result":null}
    -> {"jsonrpc":"2.0","id":"c","method":"test_nothing","params":null}
    <- {"jsonrpc":"2.0","id":"c","error":{"code":-32600,"message":"Invalid Request","data":{"reason":"params must be an object or an array"}}}
  `,
  'what is no request': `
    -> 1
    <- ${invalid}
    -> null
    <- ${invalid}
    -> {"id":1}
    <- {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request"}}
    -> {"id":[],"method":"test_nothing"}
    <- ${invalid}
    -> {"id":{},"method":"test_nothing"}
    <- ${invalid}
    -> {"jsonrpc":"2.1","id":1,"method":"test_nothing"}
    <- {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request"}}
    -> {"jsonrpc":2.0,"id":1,"method":"test_nothing"}
    <- {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid Request"}}
    -> "{}
    <- ${notJson}
    -> {}
    <- ${invalid}
  `,
  'what is no JSON, and then a call: the connection stays open': `
    -> some words
    <- ${notJson}
    -> {
    <- ${notJson}
    -> {some}
    <- ${notJson}
    -> [
    <- ${notJson}
    -> [some]
    <- ${notJson}
    -> [{"jsonrpc":"2.0","id":1,"method":"test_nothing"}
    <- ${notJson}
    -> [{"jsonrpc":"2.0","id":"1","method":"test_nothing"},{"jsonrpc":"2.0","method"]
    <- ${notJson}
    -> {"jsonrpc":"2.0","method":"test_nothing","id"}
    <- ${notJson}
    -> {"jsonrpc":"2.0","method":"test_nothing","params":[1,"id":99}
    <- ${notJson}
    -> {"jsonrpc":"2.0","id":33,"method":"test_nothing"}
    <- {"jsonrpc":"2.0","id":33,"result":null}
  `,
  'blanks, as many as there are, and members that nobody knows': `
    -> BLANKS{"jsonrpc":"2.0","id":1,"method":"test_nothing"}BLANKS
    <- {"jsonrpc":"2.0","id":1,"result":null}
    -> BLANKS[BLANKS{"jsonrpc":"2.0","id":2,"method":"test_nothing"}BLANKS]
    <- [{"jsonrpc":"2.0","id":2,"result":null}]
    -> {"jsonrpc":"2.0","id":3,"method":"test_nothing","unknown":1}
    <- {"jsonrpc":"2.0","id":3,"result":null}
  `,
  'batches with junk between the calls, and one that says nothing': `
    -> []
    <- ${invalid}
    -> [1,null]
    <- [${invalid},${invalid}]
    -> [{"jsonrpc":"2.0","id":1,"method":"test_echo","params":["foo",1]},55,{"foo":"bar"}]
    <- [{"jsonrpc":"2.0","id":1,"result":{"text":"foo","number":1,"rest":null}},${invalid},${invalid}]
    -> [{"jsonrpc":"2.0","method":"test_echo","params":["x",99]}]
    -> {"jsonrpc":"2.0","id":9,"method":"test_nothing"}
    <- {"jsonrpc":"2.0","id":9,"result":null}
    -> [{"jsonrpc":"2.0","id":"1","method":"test_later","params":["slow"]},{"jsonrpc":"2.0","method":"test_nothing"},{"jsonrpc":"2.0","id":"2","method":"test_returnError"},{"jsonrpc":"2.0","id":"3","method":"test_nobody","params":{"name":"x"}},{"jsonrpc":"2.0","id":"4","method":"test_nothing"}]
    <- [{"jsonrpc":"2.0","id":"1","result":"slow"},{"jsonrpc":"2.0","id":"2","error":{"code":444,"message":"testError","data":"testError data"}},{"jsonrpc":"2.0","id":"3","error":{"code":-32601,"message":"Method not found","data":{"method":"test_nobody"}}},{"jsonrpc":"2.0","id":"4","result":null}]
  `,
  'a method that answers later, ten times': `
${Array.from(
  { length: 10 },
  (_, i) => `    -> {"jsonrpc":"2.0","id":${i},"method":"test_later","params":["${i}"]}
    <- {"jsonrpc":"2.0","id":${i},"result":"${i}"}`,
).join('\n')}
  `,
  'params that are wrong, and then a call': `
    -> {"jsonrpc":"2.0","id":1,"method":"test_later","params":[7]}
    <- {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params","data":[{"path":"/text","message":"must be string","expected":"string","received":"number"}]}}
    -> {"jsonrpc":"2.0","id":2,"method":"test_later","params":["x"]}
    <- {"jsonrpc":"2.0","id":2,"result":"x"}
  `,
  'an error of the method, and one of its own': `
    -> {"jsonrpc":"2.0","id":1,"method":"test_returnError"}
    <- {"jsonrpc":"2.0","id":1,"error":{"code":444,"message":"testError","data":"testError data"}}
    -> {"jsonrpc":"2.0","id":2,"method":"test_nobody"}
    <- {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found","data":{"method":"test_nobody"}}}
  `,
  'a subscription: its id, its values, its end, and calls afterwards': `
    -> {"jsonrpc":"2.0","id":1,"method":"nftest_subscribe","params":["numbers",3,1]}
    <- {"jsonrpc":"2.0","id":1,"result":"SUB","subscription":true}
    <- {"jsonrpc":"2.0","method":"nftest_subscription","params":{"subscription":"SUB","result":1}}
    <- {"jsonrpc":"2.0","method":"nftest_subscription","params":{"subscription":"SUB","result":2}}
    <- {"jsonrpc":"2.0","method":"nftest_subscription","params":{"subscription":"SUB","result":3}}
    <- {"jsonrpc":"2.0","method":"rpc.end","params":{"subscription":"SUB","result":null}}
    -> {"jsonrpc":"2.0","id":2,"method":"test_echo","params":["x",11]}
    <- {"jsonrpc":"2.0","id":2,"result":{"text":"x","number":11,"rest":null}}
    -> {"jsonrpc":"2.0","id":3,"method":"nftest_unsubscribe","params":["SUB"]}
    <- {"jsonrpc":"2.0","id":3,"result":false}
  `,
  'a subscription in a batch: its values come behind the array that names it': `
    -> [{"jsonrpc":"2.0","id":1,"method":"nftest_subscribe","params":["numbers",1,7]},{"jsonrpc":"2.0","id":2,"method":"test_nothing"}]
    <- [{"jsonrpc":"2.0","id":1,"result":"SUB","subscription":true},{"jsonrpc":"2.0","id":2,"result":null}]
    <- {"jsonrpc":"2.0","method":"nftest_subscription","params":{"subscription":"SUB","result":7}}
    <- {"jsonrpc":"2.0","method":"rpc.end","params":{"subscription":"SUB","result":null}}
  `,
  'a subscription that is left before its end says nothing more': `
    -> {"jsonrpc":"2.0","id":1,"method":"nftest_subscribe","params":["waits",0,0]}
    <- {"jsonrpc":"2.0","id":1,"result":"SUB","subscription":true}
    <- {"jsonrpc":"2.0","method":"nftest_subscription","params":{"subscription":"SUB","result":0}}
    -> {"jsonrpc":"2.0","id":2,"method":"nftest_unsubscribe","params":["SUB"]}
    <- {"jsonrpc":"2.0","id":2,"result":true}
    -> {"jsonrpc":"2.0","id":3,"method":"test_nothing"}
    <- {"jsonrpc":"2.0","id":3,"result":null}
  `,
  'a subscription that is left twice: the second time there is none': `
    -> {"jsonrpc":"2.0","id":1,"method":"nftest_subscribe","params":["waits",0,0]}
    <- {"jsonrpc":"2.0","id":1,"result":"SUB","subscription":true}
    <- {"jsonrpc":"2.0","method":"nftest_subscription","params":{"subscription":"SUB","result":0}}
    -> {"jsonrpc":"2.0","id":2,"method":"nftest_unsubscribe","params":["SUB"]}
    <- {"jsonrpc":"2.0","id":2,"result":true}
    -> {"jsonrpc":"2.0","id":3,"method":"nftest_unsubscribe","params":["SUB"]}
    <- {"jsonrpc":"2.0","id":3,"result":false}
    -> {"jsonrpc":"2.0","id":4,"method":"nftest_unsubscribe","params":[13.99]}
    <- {"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"Invalid params","data":[{"path":"/subscription","message":"must be the id of a subscription","expected":"string","received":"number"}]}}
  `,
  'what names no subscription there is': `
    -> {"jsonrpc":"2.0","id":1,"method":"nftest_subscribe","params":["nobody",1,1]}
    <- {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no \\"nobody\\" subscription"}}
    -> {"jsonrpc":"2.0","id":2,"method":"nftest_unsubscribe","params":["0x0"]}
    <- {"jsonrpc":"2.0","id":2,"result":false}
  `,
};

function createRouter(): Router {
  const router = new Router();
  const echo = Type.Object({
    text: Type.String(),
    number: Type.Integer(),
    rest: Type.Optional(Type.Object({ s: Type.String() })),
  });
  router.rpc({ name: 'test_echo', params: echo, placement: 'inline' }, (params) => ({
    text: params.text,
    number: params.number,
    rest: params.rest ?? null,
  }));
  const text = Type.Object({ text: Type.String() });
  router.rpc({ name: 'test_later', params: text }, async (given) => {
    await nextTurn();
    return given.text;
  });
  router.rpc({ name: 'test_nothing', placement: 'inline' }, () => undefined);
  router.rpc({ name: 'test_returnError', placement: 'inline' }, () => {
    throw new RpcError(444, 'testError', 'testError data');
  });
  const kind = Type.Object({ kind: Type.String(), count: Type.Integer(), from: Type.Integer() });
  router.rpc(
    { name: 'nftest_subscribe', params: kind, yields: Type.Integer() },
    async (given, { signal }) => {
      const { kind: name, count, from } = given;
      if (name !== 'numbers' && name !== 'waits') {
        throw new RpcError(-32601, `no "${name}" subscription`);
      }
      return (async function* () {
        for (let i = 0; i < count; i++) yield from + i;
        if (name === 'numbers') return;
        yield from;
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      })();
    },
  );
  return router;
}

for (const transport of servers) {
  const open = async (t: TestContext): Promise<RawSocket> => {
    const { client } = await serve(t, transport, { router: createRouter() });
    return RawSocket.open(client());
  };

  describe(`conversations over a WebSocket (${transport})`, () => {
    for (const [name, text] of Object.entries(transcripts)) {
      test(name, async (t) => {
        const socket = await open(t);
        let subscription = 'SUB';
        for (const line of text.trim().split('\n')) {
          const [arrow, ...words] = line.trim().split(' ');
          const message = words
            .join(' ')
            .replaceAll('SUB', subscription)
            .replaceAll('BLANKS', blanks);
          if (arrow === '->') {
            await socket.send(message);
            continue;
          }
          const said = await socket.receive();
          const named = /"id":1,"result":"(0x[0-9a-f]+)"/.exec(said);
          if (named !== null) subscription = named[1] as string;
          assert.equal(said, message.replaceAll('SUB', subscription));
        }
      });
    }
  });
}
