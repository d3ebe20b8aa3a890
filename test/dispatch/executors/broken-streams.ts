import type { StreamSink } from '../../../src/core/dispatch/streams/contract.ts';
import { type Broken, withExecute } from './broken.ts';

/** How the values of a stream reach their reader, and the reader its stream, where something is wrong in between. */
function withSink(change: (real: StreamSink) => Partial<StreamSink>): Broken['opened'] {
  return withExecute((execute) => (call) => {
    const { sink } = call;
    if (sink === undefined) return execute(call);
    const asIs: StreamSink = {
      opened: (flow) => sink.opened(flow),
      value: (text) => sink.value(text),
      end: (outcome) => sink.end(outcome),
    };
    return execute({ ...call, sink: { ...asIs, ...change(sink) } });
  });
}

/** Real executors around whose streams something is wrong. */
export const brokenStreams: readonly Broken[] = [
  {
    name: 'loses a value',
    breaks: 'a stream gives its values in order, then one end; its call is reported when it opens',
    says: /values in order, none lost/,
    opened: withSink((sink) => {
      let values = 0;
      return {
        value: (text) => {
          if (++values !== 30) sink.value(text);
        },
      };
    }),
  },
  {
    name: 'gives a value twice',
    breaks: 'a stream gives its values in order, then one end; its call is reported when it opens',
    says: /values in order, none lost/,
    opened: withSink((sink) => ({
      value: (text) => {
        sink.value(text);
        if (text === '7') sink.value(text);
      },
    })),
  },
  {
    name: 'ends a stream twice',
    breaks: 'a stream gives its values in order, then one end; its call is reported when it opens',
    says: /an end after the end/,
    opened: withSink((sink) => ({
      end: (outcome) => {
        sink.end(outcome);
        sink.end(outcome);
      },
    })),
  },
  {
    name: 'does not say why a stream has ended',
    breaks: 'a stream that fails says why',
    says: /ended with 0/,
    opened: withSink((sink) => ({
      end: (outcome) => sink.end(outcome.ok ? outcome : { ok: true, code: 0, text: 'null' }),
    })),
  },
  {
    name: 'does not wait for its reader',
    breaks: 'a reader that reads nothing is given one window',
    says: /more than it asked for/,
    opened: withSink((sink) => ({
      opened: (flow) =>
        sink.opened({
          grant: (values, characters) => flow.grant(values * 2, characters * 2),
          cancel: () => flow.cancel(),
          drain: (reason) => flow.drain(reason),
        }),
    })),
  },
  {
    name: 'goes on behind a cancel',
    breaks: 'after a cancel nothing comes, no end either, and the generator is closed',
    says: /a value after the cancel/,
    opened: withSink((sink) => ({
      opened: (flow) =>
        sink.opened({
          grant: (values, characters) => flow.grant(values, characters),
          cancel: () => {
            flow.cancel();
            setImmediate(() => sink.value('1'));
          },
          drain: (reason) => flow.drain(reason),
        }),
    })),
  },
  {
    name: 'does not say that streams were drained',
    breaks: 'a drain ends streams at their next yield, and leaves those that may finish',
    says: /ended with -32603/,
    opened: withSink((sink) => ({
      end: (outcome) =>
        sink.end(
          outcome.text.includes('reload') ? { ok: false, code: -32603, text: '{}' } : outcome,
        ),
    })),
  },
];
