/** What examples/deployment has for Kubernetes, Prometheus and Grafana, by the types and the schemas of those programs. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { logEvents } from '../../src/core/observe/events.ts';
import { typeErrors } from '../codegen/compile.ts';
import { read } from '../docs/pages.ts';
import { temporaryFolder } from '../files.ts';
import { manifestsIn } from './manifests.ts';

const example = (name: string): string => read(`examples/deployment/${name}`);

/** By kind: the module that has its type and its schema. */
const models: Readonly<Record<string, string>> = {
  Deployment: 'kubernetes-models/apps/v1',
  Service: 'kubernetes-models/v1',
  PodDisruptionBudget: 'kubernetes-models/policy/v1',
  HorizontalPodAutoscaler: 'kubernetes-models/autoscaling/v2',
  ScaledObject: '@kubernetes-models/keda/keda.sh/v1alpha1',
  PodMonitor: '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1',
  PrometheusRule: '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1',
};
const manifestFiles = [
  'kubernetes/nats.yaml',
  'kubernetes/member.yaml',
  'kubernetes/gateway.yaml',
  'autoscaling/keda.yaml',
  'autoscaling/hpa.yaml',
  'pod-monitor.yaml',
];
const manifests = [
  ...manifestFiles.flatMap((file) => manifestsIn(file)),
  {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'tandem' },
    spec: parse(example('alert-rules.yaml')) as object,
  },
];

/** A file in which the compiler holds an object against a type: a member that the type has not is an error. */
function typed(type: string, module: string, value: unknown): string {
  return `import type { ${type} } from '${module}';\nexport const value: ${type} = ${JSON.stringify(value)};\n`;
}

describe('the files for Kubernetes, Prometheus and Grafana', () => {
  test('have members that there are, of the right types', (t) => {
    const folder = temporaryFolder(t);
    const texts = manifests.map((manifest) => {
      return typed(`I${manifest.kind}`, models[manifest.kind] ?? '', manifest);
    });
    const dashboard = JSON.parse(example('grafana-dashboard.json')) as unknown;
    texts.push(typed('Dashboard', '@grafana/schema', dashboard));
    // What shows that the compiler looks: a misspelt member.
    texts.push(texts[0]?.replace('readinessProbe', 'readynessProbe') ?? '');
    const names = texts.map((text, index) => {
      const name = `manifest-${index}.ts`;
      writeFileSync(join(folder, name), text);
      return name;
    });
    const errors = typeErrors(folder, names);
    const [line = '', ...more] = errors.trim().split('\n');
    assert.deepEqual(more, []);
    assert.match(line, new RegExp(`/${names.at(-1)}.*"readynessProbe"' does not exist`));
  });

  for (const manifest of manifests) {
    test(`${manifest.kind} ${manifest.metadata.name} passes the schema`, async () => {
      type Model = new (data: unknown) => { validate(): void };
      const module = (await import(models[manifest.kind] ?? '')) as Record<string, Model>;
      const Kind = module[manifest.kind];
      assert.ok(Kind !== undefined);
      new Kind(manifest).validate();
    });
  }

  test('name events of the log that there are', () => {
    const named = [...example('alert-rules.yaml').matchAll(/log event ([\w-]+)/g)];
    assert.ok(named.length > 3);
    for (const [, event = ''] of named) assert.ok(event in logEvents, event);
  });
});
