import type { Call, CallObserver } from '../../../src/core/dispatch/call.ts';
import type { Executor } from '../../../src/core/dispatch/executor.ts';
import { RequestScope } from '../../../src/core/dispatch/scope.ts';
import { ErrorCode } from '../../../src/core/protocol/errors.ts';
import { promised, type Reply } from '../../../src/core/protocol/reply.ts';
import { turn } from '../../turns.ts';
import type { Opened, OpenOptions, Subject } from './subject.ts';

/** An executor, for those that are wrong in what they answer: the reply at once, or a promise of it. */
type Execute = (call: Call) => Reply | Promise<Reply>;
type ExecuteInOrder = (calls: readonly Call[]) => Promise<readonly Reply[]>;

/** A real executor around which something is wrong. */
export interface Broken {
  readonly name: string;
  /** The first clause, in the order of the suite, that it does not keep. */
  readonly breaks: string;
  /** Of what the suite says then. */
  readonly says: RegExp;
  /** What the real one is opened with instead. */
  readonly options?: ((options: OpenOptions) => OpenOptions) | undefined;
  readonly opened?: ((opened: Opened) => Opened) | undefined;
}

function withObserver(change: (real: CallObserver) => CallObserver['onCall']): Broken['options'] {
  return (options) => {
    const { observer } = options;
    return { ...options, observer: { ...observer, onCall: change(observer) } };
  };
}

export function withExecute(
  change: (execute: Execute) => Execute,
  inOrder?: (execute: Execute) => ExecuteInOrder,
): Broken['opened'] {
  return ({ executor, ...rest }) => {
    const execute = change((call) => answerOf(executor, call));
    const several = inOrder?.(execute);
    const wrong: Executor = {
      place: executor.place,
      takesUnparsed: executor.takesUnparsed,
      execute: (call, sink) => {
        const reply = execute(call);
        if (reply instanceof Promise) void reply.then((settled) => sink.onReply(settled));
        else sink.onReply(reply);
      },
    };
    const executeInOrder: Executor['executeInOrder'] =
      several && ((calls, sink) => void several(calls).then((replies) => sink.onReply(replies)));
    return {
      ...rest,
      executor: executeInOrder === undefined ? wrong : { ...wrong, executeInOrder },
    };
  };
}

/** The reply, if it is there at once. */
function answerOf(executor: Executor, call: Call): Reply | Promise<Reply> {
  let there: { readonly reply: Reply } | undefined;
  const later = promised<Reply>((sink) =>
    executor.execute(call, {
      onReply: (reply) => {
        there = { reply };
        sink.onReply(reply);
      },
    }),
  );
  return there === undefined ? later : there.reply;
}

const asIs = (execute: Execute): Execute => execute;

/** One after another, as it should be. */
async function inTurn(execute: Execute, calls: readonly Call[]): Promise<Reply[]> {
  const replies: Reply[] = [];
  for (const call of calls) replies.push(await execute(call));
  return replies;
}

export const brokenExecutors: readonly Broken[] = [
  {
    name: 'reports twice',
    breaks: 'a result is answered once and reported once, a notification too',
    says: /reported once, not 2 times/,
    options: withObserver((real) => (...report) => {
      real.onCall(...report);
      real.onCall(...report);
    }),
  },
  {
    name: 'does not report notifications',
    breaks: 'a result is answered once and reported once, a notification too',
    says: /reported once, not 0 times/,
    options: withObserver((real) => (call, ...rest) => {
      if (call.id !== undefined) real.onCall(call, ...rest);
    }),
  },
  {
    name: 'reports under the name of another place',
    breaks: 'a result is answered once and reported once, a notification too',
    says: /reported under the place/,
    options: withObserver((real) => (call, code, _place, ...rest) => {
      real.onCall(call, code, 'elsewhere', ...rest);
    }),
  },
  {
    name: 'answers notifications',
    breaks: 'a result is answered once and reported once, a notification too',
    says: /is a notification/,
    opened: withExecute((execute) => async (call) => (await execute(call)) ?? '{"id":null}'),
  },
  {
    name: 'throws instead of answering -32603',
    breaks: 'what a handler throws is an error reply, never a rejection',
    says: /thrown or rejected: Error: internal error/,
    opened: withExecute((execute) => (call) => {
      const reply = execute(call);
      if (typeof reply === 'string' && reply.includes('-32603')) throw new Error('internal error');
      return reply;
    }),
  },
  {
    name: 'ignores the bound on replies',
    breaks: 'a reply above the bound is -32004 in its place, in the report too',
    says: /ended with 0, not -32004/,
    options: (options) => ({ ...options, maxReplyBytes: Number.POSITIVE_INFINITY }),
  },
  {
    name: 'answers one call with the reply of another',
    breaks: 'each of many calls gets its own reply, in whatever order they end',
    says: /reported with its reply/,
    opened: withExecute((execute) => {
      let waiting: Promise<Reply> | undefined;
      return (call) => {
        const reply = execute(call);
        if (!(reply instanceof Promise)) return reply;
        // Whoever comes while another waits takes that one's reply.
        const taken = waiting ?? reply;
        waiting = reply;
        void reply.then(() => {
          waiting = undefined;
        });
        return taken;
      };
    }),
  },
  {
    name: 'answers in the wrong order',
    breaks: 'calls in order begin one after another, and are answered in that order',
    says: /reported with its reply/,
    opened: withExecute(asIs, (execute) => async (calls) => {
      return (await inTurn(execute, calls)).reverse();
    }),
  },
  {
    name: 'begins a call before the one before has ended',
    breaks: 'calls in order begin one after another, and are answered in that order',
    says: /Expected values to be strictly deep-equal/,
    opened: withExecute(
      asIs,
      (execute) => (calls) => Promise.all(calls.map(async (call) => execute(call))),
    ),
  },
  {
    name: 'answers later than it has reported the deadline',
    breaks: 'a call is answered with -32001 at its deadline, and what it gives later is dropped',
    says: /has no answer/,
    opened: withExecute((execute) => async (call) => {
      const reply = await execute(call);
      if (!String(reply).includes(String(ErrorCode.DeadlineExceeded))) return reply;
      for (let i = 0; i < 10; i++) await turn();
      return reply;
    }),
  },
  {
    name: 'does not tell its calls that their caller has left',
    breaks: 'a call whose caller has left before it ran is answered with -32003 and never runs',
    says: /ended with 0, not -32003/,
    opened: withExecute((execute) => (call) => {
      const { timeoutMs } = call.scope;
      return execute({ ...call, scope: new RequestScope({ timeoutMs }) });
    }),
  },
  {
    name: 'does not abort the signal of a call whose caller leaves',
    breaks:
      'the signal of a call is aborted when its caller leaves, and it is answered when it ends',
    says: /its signal is aborted/,
    opened: withExecute((execute) => (call) => {
      if (call.scope.cancelled) return execute(call);
      const { timeoutMs } = call.scope;
      return execute({ ...call, scope: new RequestScope({ timeoutMs }) });
    }),
  },
  {
    name: 'answers a call that runs as soon as its caller leaves',
    breaks:
      'the signal of a call is aborted when its caller leaves, and it is answered when it ends',
    says: /reported before it is answered/,
    opened: withExecute((execute) => (call) => {
      const reply = execute(call);
      if (!(reply instanceof Promise)) return reply;
      const left = new Promise<Reply>((resolve) => {
        call.scope.addListener({ onCancelled: () => resolve(undefined) });
      });
      return Promise.race([reply, left]);
    }),
  },
  {
    name: 'runs what comes after its close',
    breaks: 'a call that comes after the close is answered with -32003 and never runs',
    says: /ended with 0, not -32003/,
    opened: (opened) => ({ ...opened, close: async () => {} }),
  },
  {
    name: 'never answers what comes after its close',
    breaks: 'a call that comes after the close is answered with -32003 and never runs',
    says: /has no answer/,
    opened: ({ executor, streams, close }) => {
      let isClosed = false;
      const { place, takesUnparsed } = executor;
      const execute: Executor['execute'] = (call, sink) => {
        if (!isClosed) executor.execute(call, sink);
      };
      return {
        executor: { place, takesUnparsed, execute },
        streams,
        close: (graceMs) => {
          isClosed = true;
          return close(graceMs);
        },
      };
    },
  },
  {
    name: 'gives no grace at its close',
    breaks: 'a call that runs may end within the grace of the close',
    says: /not ended before its time/,
    opened: (opened) => ({ ...opened, close: () => opened.close(0) }),
  },
];

export function broken(subject: Subject, { name, options, opened }: Broken): Subject {
  return {
    ...subject,
    name: `${subject.name} that ${name}`,
    open: async (given) => {
      const real = await subject.open(options?.(given) ?? given);
      return opened?.(real) ?? real;
    },
  };
}
