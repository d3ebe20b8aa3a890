/**
 * A gateway and a member, started as the manifests of Kubernetes say, behind a nats-server with the permissions of
 * examples/cluster; and each query of the dashboard, the alert rules and the autoscaling, held against their metrics.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { before, test } from 'node:test';
import { parser } from '@prometheus-io/lezer-promql';
import { parse } from 'yaml';
import { Running, startCli } from '../cli/process.ts';
import { describeWith } from '../describe-with.ts';
import { pathOf, read } from '../docs/pages.ts';
import { fixture } from '../files.ts';
import { suiteLifetime } from '../harness.ts';
import { findNatsServer, NatsServer, needs } from '../nats/nats-server.ts';
import { Exposition } from '../observe/exposition.ts';
import { callAt } from '../post-json.ts';
import { until } from '../turns.ts';
import { environmentIn, manifestsIn, podOf } from './manifests.ts';

const example = (name: string): string => read(`examples/deployment/${name}`);

/** Labels that Prometheus gives by itself, and those of its operator's scrape. */
const ofTargets = ['job', 'instance', 'namespace', 'pod'];

interface Query {
  readonly from: string;
  readonly text: string;
  /** What the query's legend or message names. */
  readonly labels: readonly string[];
}

function ofDashboard(): Query[] {
  const { panels, templating } = JSON.parse(example('grafana-dashboard.json')) as {
    panels: { title: string; targets?: { expr: string; legendFormat: string }[] }[];
    templating: { list: { name: string; query: string | { query: string } }[] };
  };
  const targets = panels.flatMap(({ title, targets: all = [] }) =>
    all.map(({ expr, legendFormat }): Query => {
      const labels = Array.from(legendFormat.matchAll(/\{\{(\w+)\}\}/g), ([, label = '']) => label);
      return { from: title, text: expr.replaceAll('$__rate_interval', '5m'), labels };
    }),
  );
  const variables = templating.list.flatMap(({ name, query }): Query[] => {
    if (typeof query === 'string') return [];
    const [, text = '', label = ''] = /^label_values\((.*), (\w+)\)$/.exec(query.query) ?? [];
    return [{ from: `$${name}`, text, labels: [label] }];
  });
  return [...targets, ...variables];
}

function ofRules(): Query[] {
  const { groups } = parse(example('alert-rules.yaml')) as {
    groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[];
  };
  return groups.flatMap(({ rules }) =>
    rules.map(({ alert, expr, annotations }) => {
      const named = Object.values(annotations)
        .join()
        .matchAll(/\$labels\.(\w+)/g);
      return { from: alert, text: expr, labels: Array.from(named, ([, label = '']) => label) };
    }),
  );
}

function ofScaling(): Query[] {
  const [scaler] = manifestsIn('autoscaling/keda.yaml') as unknown as [
    { spec: { triggers: { metadata: { query: string } }[] } },
  ];
  const { rules } = parse(example('autoscaling/adapter-rules.yaml')) as {
    rules: { custom: { seriesQuery: string; metricsQuery: string; name: { as: string } }[] };
  };
  return [
    ...scaler.spec.triggers.map(({ metadata }) => ({
      from: 'keda.yaml',
      text: metadata.query,
      labels: [],
    })),
    ...rules.custom.flatMap(({ seriesQuery, metricsQuery, name }) => {
      const filled = metricsQuery
        .replace('<<.Series>>', /^\w+/.exec(seriesQuery)?.[0] ?? '')
        .replace('<<.LabelMatchers>>', 'namespace="a",pod="b"')
        .replace('<<.GroupBy>>', 'pod');
      return [seriesQuery, filled].map((text) => ({ from: name.as, text, labels: [] }));
    }),
  ];
}

interface Selector {
  readonly metric: string;
  readonly matchers: readonly { readonly label: string; readonly equals: string | undefined }[];
}

/** What a query of PromQL names. @throws AssertionError if it is none */
function parsed({ from, text }: Query): { selectors: Selector[]; labels: string[] } {
  const selectors: Selector[] = [];
  const labels: string[] = [];
  const textOf = (node: { from: number; to: number }): string => text.slice(node.from, node.to);
  parser.parse(text).iterate({
    enter({ node, type, from: start }) {
      assert.ok(!type.isError, `${from}: no PromQL at ${start} of ${text}`);
      if (type.name === 'LabelName') labels.push(textOf(node));
      if (type.name !== 'VectorSelector') return;
      const metric = node.getChild('Identifier');
      const found = node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? [];
      const matchers = found.map((matcher) => {
        const [label, operator, value] = ['LabelName', 'MatchOp', 'StringLiteral'].map((kind) => {
          const part = matcher.getChild(kind);
          assert.ok(part !== null, text);
          return textOf(part);
        });
        const equals = operator === '=' ? value?.slice(1, -1) : undefined;
        return { label: label ?? '', equals };
      });
      assert.ok(metric !== null, text);
      selectors.push({ metric: textOf(metric), matchers });
    },
  });
  assert.ok(selectors.length > 0, `${from}: ${text}`);
  return { selectors, labels };
}

describeWith(findNatsServer(), needs, 'the manifests, played', (program) => {
  const suite = suiteLifetime();
  const secrets = { gateway: 'of-the-gateway', member: 'of-the-member', client: 'of-clients' };
  let server: NatsServer;
  let gateway: Running;
  let member: Running;

  /** A process with the arguments and the variables of a manifest, at free ports of this machine. */
  function start(name: 'gateway' | 'member', more: readonly string[]): Running {
    const [container] = podOf(`kubernetes/${name}.yaml`).containers;
    const given = environmentIn(container, secrets);
    const env = {
      ...given,
      TANDEM_NATS: String(given.TANDEM_NATS).replace('nats:4222', `127.0.0.1:${server.port}`),
      TANDEM_METRICS_PORT: '0',
      PORT: '0',
    };
    const args = container.args.slice(1).map((word) => {
      return word === './procedures.js' ? fixture('observe/monitored.ts') : word;
    });
    const running = startCli([...args, ...more], env);
    suite.after(async () => {
      running.child.kill('SIGKILL');
      await running.exit;
    });
    return running;
  }

  async function urlsOf(running: Running): Promise<{ url: string; metrics: string }> {
    const [line] = await running.seen('stderr', /^\{.*"event":"ready".*$/m);
    const { url, metricsUrl } = JSON.parse(line) as { url: string; metricsUrl: string };
    const here = (text: string): string => text.replace('0.0.0.0', '127.0.0.1');
    return { url: here(url), metrics: here(metricsUrl) };
  }

  async function call(url: string, method: string, params: object = {}): Promise<unknown> {
    const { result, error } = await callAt(url, method, params);
    return error?.code ?? result;
  }

  before(async () => {
    const env = {
      GATEWAY_PASSWORD: secrets.gateway,
      MEMBER_PASSWORD: secrets.member,
      CLIENT_PASSWORD: secrets.client,
    };
    server = await NatsServer.start({ config: read('examples/cluster/nats.conf'), env });
    suite.after(() => server.close());
    member = start('member', ['--group', 'big']);
    gateway = start('gateway', []);
  });

  test('the gateway is ready when a member is, and passes calls on', async () => {
    const { url, metrics } = await urlsOf(gateway);
    await until(async () => (await fetch(new URL('/readyz', metrics))).status === 200);
    assert.equal((await fetch(new URL('/healthz', metrics))).status, 200);
    assert.equal(await call(url, 'add', { a: 1, b: 2 }), 3);
  });

  test('each query is PromQL, and names metrics and labels that there are', async () => {
    const { url, metrics } = await urlsOf(gateway);
    const { url: direct, metrics: ofMember } = await urlsOf(member);
    assert.equal(await call(url, 'fail'), -32603);
    assert.equal(await call(url, 'spin'), -32001);
    const scrape = async (from: string) => (await fetch(from)).text();
    let text = '';
    await until(async () => {
      await call(direct, 'block');
      text = await scrape(ofMember);
      // A busy machine has no time to read the CPU times of threads for a while.
      const hasCpu = /^tandem_worker_cpu_seconds_total\{.*group=/m.test(text);
      return hasCpu && text.includes('tandem_main_thread_blocked_seconds_total{');
    });
    // The alert for gateways without members must not fire at a member.
    assert.ok(!text.includes('\ntandem_remote_members{'));
    text += `\n${await scrape(metrics)}`;
    const shown = new Exposition(text);
    const queries = [...ofDashboard(), ...ofRules(), ...ofScaling()];
    assert.ok(queries.length > 40);
    for (const query of queries) {
      const { selectors, labels } = parsed(query);
      const there = new Set(ofTargets);
      for (const { metric, matchers } of selectors) {
        // Prometheus's own, of each target.
        if (metric === 'up') continue;
        const samples = shown.samples(metric);
        for (const sample of samples) {
          for (const label of Object.keys(sample.labels ?? {})) there.add(label);
        }
        for (const { label, equals } of matchers) {
          if (ofTargets.includes(label)) continue;
          const values = samples.map((sample) => sample.labels?.[label]);
          const isThere = values.some(
            (value) => value !== undefined && [value, undefined].includes(equals),
          );
          assert.ok(isThere, `${query.from}: no ${label}=${equals} in ${metric}`);
        }
      }
      const unknown = [...labels, ...query.labels].filter((label) => !there.has(label));
      assert.deepEqual(unknown, [], `${query.from}: ${query.text}`);
    }
  });

  test('the server of NATS takes its arguments, and is healthy where its probes ask', async (t) => {
    const [container] = podOf('kubernetes/nats.yaml').containers;
    const config = pathOf('examples/cluster/nats.conf');
    const args = container.args.map((word) => (word === '/etc/nats/nats.conf' ? config : word));
    const monitor = container.ports.find(
      ({ name }) => name === container.readinessProbe.httpGet.port,
    );
    assert.equal(args[args.indexOf('-m') + 1], `${monitor?.containerPort}`);
    args[args.indexOf('-m') + 1] = '-1';
    const env = { ...process.env, ...environmentIn(container, secrets) };
    const nats = new Running(spawn(program, [...args, '-p', '-1'], { env }));
    t.after(async () => {
      nats.child.kill('SIGKILL');
      await nats.exit;
    });
    const [, port] = await nats.seen('stderr', /http monitor on \S+:(\d+)/);
    await nats.seen('stderr', /client connections on 0\.0\.0\.0:/);
    const { path } = container.livenessProbe.httpGet;
    assert.equal((await fetch(`http://127.0.0.1:${port}${path}`)).status, 200);
  });

  test('SIGTERM ends both with 0', async () => {
    for (const running of [gateway, member]) {
      running.child.kill('SIGTERM');
      const { code, stderr } = await running.exit;
      assert.equal(code, 0, stderr);
    }
  });
});
