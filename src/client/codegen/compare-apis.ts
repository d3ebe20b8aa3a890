import { cached } from '../../core/base/cached.ts';
import { Comparison } from '../../core/schema/compare.ts';
import { breaking, type Finding, memberPath, unknown } from '../../core/schema/findings.ts';
import { anything, type SchemaNode } from '../../core/schema/model.ts';
import { type Api, type Method, paramsOf } from './document.ts';

/** A finding, and the procedure of the old contract that it is about. */
export interface MethodFinding extends Finding {
  readonly method: string;
}

export interface Compatibility {
  /** Ordered by procedure. */
  readonly findings: readonly MethodFinding[];
  /** Procedures that the new contract alone has. */
  readonly added: readonly string[];
  /** Procedures of the old contract. */
  readonly methods: number;
}

/**
 * What of the old contract the new one breaks: for callers that were written against the old one, and follow it. They send
 * what its params allow, and no members of which it says nothing; and they pass over members of a result that it does not
 * name.
 */
export function compareApis(before: Api, after: Api): Compatibility {
  const olds = new Set(before.methods.map(({ name }) => name));
  const news = new Map(after.methods.map((method) => [method.name, method]));
  const added = after.methods.filter(({ name }) => !olds.has(name));
  const isAnyRemoved = before.methods.some(({ name }) => !news.has(name));
  const comparison = new ApiComparison(isAnyRemoved ? added : []);
  const findings = before.methods.flatMap((old) => {
    const fresh = news.get(old.name);
    const found =
      fresh === undefined
        ? [breaking('', comparison.removed(old))]
        : comparison.methods(old, fresh);
    return found.map((finding) => ({ method: old.name, ...finding }));
  });
  return { findings, added: added.map(({ name }) => name), methods: before.methods.length };
}

class ApiComparison {
  readonly #params = new Comparison('params');
  readonly #results = new Comparison('result');
  /** Procedures that came, by what they take and give. */
  readonly #added = new Map<string, Method[]>();

  constructor(added: readonly Method[]) {
    for (const method of added) cached(this.#added, this.#signature(method), () => []).push(method);
  }

  /** A removed procedure that stands there under another name was renamed, most likely. */
  removed(old: Method): string {
    const same = this.#added.get(this.#signature(old)) ?? [];
    const last = lastSegment(old.name);
    const renamed =
      same.length === 1 ? same[0] : same.find(({ name }) => lastSegment(name) === last);
    return renamed === undefined ? 'removed' : `removed; renamed to ${renamed.name}?`;
  }

  methods(old: Method, fresh: Method): readonly Finding[] {
    return [
      ...compareForms(old, fresh),
      ...(old.byPosition
        ? this.#positions(old, fresh)
        : this.#params.within(paramsOf(old), paramsOf(fresh), 'params')),
      ...this.#result(old.result, fresh.result, 'result'),
      ...this.#streams(old, fresh),
      ...this.#errors(old, fresh),
    ];
  }

  /** Each value of the new schema must be one that the old contract names. */
  #result(
    old: SchemaNode = anything,
    fresh: SchemaNode = anything,
    path: string,
  ): readonly Finding[] {
    return this.#results.within(fresh, old, path);
  }

  #positions({ params: olds }: Method, { params: news }: Method): readonly Finding[] {
    const findings = olds.flatMap(({ node, required }, index) => {
      const at = `params[${index}]`;
      const param = news[index];
      if (param === undefined) return [breaking(at, 'it is no longer taken')];
      return [
        ...(param.required && !required ? [breaking(at, 'it is required now')] : []),
        ...this.#params.within(node, param.node, at),
      ];
    });
    const more = news.flatMap(({ required }, index) =>
      required && index >= olds.length ? [breaking(`params[${index}]`, 'it is required now')] : [],
    );
    return [...findings, ...more];
  }

  /** A stream is read in another way than a result: its callers break if it ceases to be one, and the other way about. */
  #streams({ stream: before }: Method, { stream: after }: Method): readonly Finding[] {
    if (before === undefined || after === undefined) {
      if (before === after) return [];
      return [
        breaking('', before === undefined ? 'it is a stream now' : 'it is no longer a stream'),
      ];
    }
    const moved = (['notification', 'unsubscribe'] as const).flatMap((name) => {
      const [was, is] = [before[name], after[name]];
      // A name that nobody had to know may come.
      if (was === undefined || was === is) return [];
      return [breaking(name, is === undefined ? `was ${was}, is gone` : `was ${was}, is ${is}`)];
    });
    return [
      ...this.#result(before.yields, after.yields, 'yields'),
      ...moved,
      ...(before.collects && !after.collects
        ? [breaking('', 'it no longer answers with all values where it is not read as a stream')]
        : []),
    ];
  }

  #errors(old: Method, fresh: Method): Finding[] {
    const news = new Map(fresh.errors.map((error) => [error.name, error]));
    return old.errors.flatMap(({ name, code, data }) => {
      const at = memberPath('errors', name);
      const successor = news.get(name);
      // An error that never comes again breaks nobody.
      if (successor === undefined) return [];
      const findings: Finding[] = [];
      if (successor.code !== code)
        findings.push(breaking(at, `code: was ${code}, is ${successor.code}`));
      if (data === undefined) return findings;
      return successor.data === undefined
        ? [...findings, breaking(`${at}.data`, 'it is no longer sent')]
        : [...findings, ...this.#result(data, successor.data, `${at}.data`)];
    });
  }

  /** A text that is equal for procedures that take and give the same. */
  #signature(method: Method): string {
    const { result = anything, stream, byPosition } = method;
    const nodes = [
      paramsOf(method),
      result,
      stream === undefined ? null : (stream.yields ?? anything),
    ];
    const texts = nodes.map((node) => node && this.#results.textOf(node));
    return JSON.stringify([byPosition, texts]);
  }
}

function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

/** The ways in which params are sent: by name, or as an array in the order of the document. */
function compareForms(old: Method, fresh: Method): Finding[] {
  if (fresh.byPosition && !old.byPosition) {
    return [breaking('params', 'they must be sent as an array now')];
  }
  if (!old.takesPositions || old.params.length === 0) return [];
  if (!fresh.takesPositions) {
    const isLost = old.byPosition ? breaking : unknown;
    return [isLost('params', 'are positional arguments still taken, in the same order?')];
  }
  if (old.byPosition) return [];
  const moved = old.params.filter(
    ({ name }, index) =>
      fresh.params.some((param) => param.name === name) && fresh.params[index]?.name !== name,
  );
  return moved.map(({ name }) =>
    breaking(memberPath('params', name), 'its position among positional arguments has changed'),
  );
}
