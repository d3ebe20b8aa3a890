/** The files for Kubernetes and the recipe's Deployment, read against the options that there are. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { misspeltVariables, resolveConfig } from '../../src/core/config/config.ts';
import { flagOf, type Option, variableOf } from '../../src/core/config/option.ts';
import { table } from '../../src/core/config/table.ts';
import { read } from '../docs/pages.ts';
import { environmentIn, manifestsIn, podIn, podOf } from './manifests.ts';

const options = Object.entries(table) as [string, Option<unknown>][];
const variables = options.map(([name, option]) => variableOf(name, option));
const flags = options.flatMap(([name, option]) => [
  `--${flagOf(name, option)}`,
  `--no-${flagOf(name, option)}`,
]);
const secrets = { gateway: 'one', member: 'two', client: 'three' };
const passwords = ['GATEWAY_PASSWORD', 'MEMBER_PASSWORD'];

const recipe =
  /^# deployment\.yaml\n(.*?)^```$/ms.exec(read('docs/recipes/containers.md'))?.[1] ?? '';

for (const [title, pod, inner] of [
  ['kubernetes/gateway.yaml', podOf('kubernetes/gateway.yaml'), 'metrics'],
  ['kubernetes/member.yaml', podOf('kubernetes/member.yaml'), 'metrics'],
  ["the recipe's Deployment", podIn(recipe), 'inner'],
] as const) {
  describe(title, () => {
    const [container] = pod.containers;
    const env = environmentIn(container, secrets);
    const config = resolveConfig({}, env);

    test('has variables that there are', () => {
      const own = Object.keys(env).filter((variable) => !passwords.includes(variable));
      assert.deepEqual(
        own.filter((variable) => !variables.includes(variable)),
        [],
      );
      assert.deepEqual(misspeltVariables(env), []);
    });

    test('listens where the probes ask', () => {
      const ports = new Map(container.ports.map((port) => [port.name, port.containerPort]));
      assert.equal(ports.get(inner), config.metricsPort);
      assert.equal(ports.get('rpc') ?? config.port, config.port);
      const { startupProbe, readinessProbe, livenessProbe } = container;
      const expected = { path: '/readyz', port: inner };
      assert.deepEqual(readinessProbe.httpGet, expected);
      assert.deepEqual(startupProbe?.httpGet ?? expected, expected);
      assert.deepEqual(livenessProbe.httpGet, { path: '/healthz', port: inner });
    });

    test('gives the drain its time', () => {
      const [sleep = 'sleep', seconds = '0'] = container.lifecycle?.preStop.exec.command ?? [];
      assert.equal(sleep, 'sleep');
      const needed = config.shutdownGraceMs / 1000 + Number(seconds) + 5;
      assert.equal(pod.terminationGracePeriodSeconds, needed);
    });

    if (inner === 'inner') return; // the image says the rest
    test('has a command of this package, with flags that there are, and reaches NATS', () => {
      const [program, command = '', ...words] = container.args;
      assert.equal(program, 'node_modules/.bin/tandem');
      assert.ok(['serve', 'gateway'].includes(command), command);
      for (const word of words) {
        if (word.startsWith('--')) assert.ok(flags.includes(word), word);
      }
      assert.equal(config.host, '0.0.0.0');
      const name = command === 'serve' ? 'member' : 'gateway';
      assert.deepEqual(config.nats, [
        `nats://${name}:${env[`${name.toUpperCase()}_PASSWORD`]}@nats:4222`,
      ]);
      // Calls have 2 s less than the grace.
      assert.ok(config.shutdownGraceMs - 2000 >= config.timeoutMs);
    });
  });
}

test('what is scaled is the Deployment of the members', () => {
  const [member] = manifestsIn('kubernetes/member.yaml');
  for (const file of ['autoscaling/keda.yaml', 'autoscaling/hpa.yaml']) {
    const [scaler] = manifestsIn(file) as unknown as [{ spec: { scaleTargetRef: object } }];
    const target = {
      apiVersion: member?.apiVersion,
      kind: member?.kind,
      name: member?.metadata.name,
    };
    assert.deepEqual({ ...target, ...scaler.spec.scaleTargetRef }, target);
  }
});
