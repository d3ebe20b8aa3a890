/** The files of examples/deployment for Kubernetes, as a cluster reads them. */
import { parseAllDocuments } from 'yaml';
import { read } from '../docs/pages.ts';

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
}

export interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly Variable[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe?: Probe;
  readonly readinessProbe: Probe;
  readonly livenessProbe: Probe;
  readonly lifecycle?: {
    readonly preStop: { readonly exec: { readonly command: readonly string[] } };
  };
}

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

interface Pod {
  readonly terminationGracePeriodSeconds?: number;
  readonly containers: readonly [Container];
}

interface Deployment extends Manifest {
  readonly spec: { readonly template: { readonly spec: Pod } };
}

/** The documents of a file in examples/deployment. */
export function manifestsIn(file: string): readonly Manifest[] {
  return documentsOf(read(`examples/deployment/${file}`));
}

function documentsOf(text: string): readonly Manifest[] {
  return parseAllDocuments(text).map((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0];
    return document.toJS() as Manifest;
  });
}

/** The pod of the Deployment in a file of examples/deployment. */
export function podOf(file: string): Pod {
  return podIn(read(`examples/deployment/${file}`));
}

/** The pod of the Deployment in a text. */
export function podIn(text: string): Pod {
  const found = documentsOf(text).find(({ kind }) => kind === 'Deployment');
  if (found === undefined) throw new Error('no Deployment');
  return (found as Deployment).spec.template.spec;
}

/** The environment that a container gets: secrets by their keys, and `$(NAME)` of a variable above. */
export function environmentIn(
  { env }: Container,
  secrets: Readonly<Record<string, string>>,
): Record<string, string> {
  const all: Record<string, string> = {};
  for (const { name, value, valueFrom } of env) {
    const text = value ?? secrets[valueFrom?.secretKeyRef.key ?? ''];
    if (text === undefined) throw new Error(`nothing gives ${name}`);
    all[name] = text.replace(/\$\((\w+)\)/g, (written: string, above: string) => {
      return all[above] ?? written;
    });
  }
  return all;
}
