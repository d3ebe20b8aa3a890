import { type Case, invalid, result } from './case.ts';
import { appSubjects, dispatcherSubjects } from './subjects.ts';
import { answersBodies } from './suite.ts';

const sum = '"method":"sum","params":[1,2,4]';

const cases: readonly Case[] = [
  { name: 'with it', body: `{"jsonrpc":"2.0",${sum},"id":1}`, reply: result('1', '7') },
  { name: 'with it, last', body: `{"id":1,${sum},"jsonrpc":"2.0"}`, reply: result('1', '7') },
  {
    name: 'with it, before params and id',
    body: `{"jsonrpc":"2.0","id":1,"params":[1,2,4],"method":"sum"}`,
    reply: result('1', '7'),
  },
  { name: 'without it', body: `{${sum},"id":1}`, reply: invalid('1') },
  { name: 'without it, id first', body: `{"id":1,${sum}}`, reply: invalid('1') },
  { name: 'without it, no params', body: '{"method":"get_data","id":1}', reply: invalid('1') },
  { name: 'without it, among others', body: `{"v":"2.0",${sum},"id":1}`, reply: invalid('1') },
  { name: 'a notification without it', body: `{${sum}}`, reply: invalid() },
  { name: 'another version', body: `{"jsonrpc":"1.0",${sum},"id":1}`, reply: invalid('1') },
  {
    name: 'an unknown method without it',
    body: '{"method":"nowhere","id":1}',
    reply: invalid('1'),
  },
  {
    name: 'in a batch, with and without',
    body: `[{${sum},"id":1},{"jsonrpc":"2.0",${sum},"id":2},{${sum}}]`,
    reply: `[${invalid('1')},${result('2', '7')},${invalid()}]`,
  },
];

for (const [name, subject] of [...dispatcherSubjects, ...appSubjects])
  answersBodies(`strict: ${name}`, subject, { strict: true }, { 'the jsonrpc member': cases });
