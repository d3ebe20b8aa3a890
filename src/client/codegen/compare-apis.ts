import {
  breaking,
  Comparison,
  closedText,
  type Finding,
  maxPairs,
  memberPath,
  unknown,
} from './comparison.ts';
import type { Api, Method, References } from './document.ts';
import { anyObject, type ObjectShape, type Part } from './shapes.ts';

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
 *
 * @throws CodegenError for a reference that leads nowhere
 */
export function compareApis(before: Api, after: Api): Compatibility {
  const comparison = new ApiComparison(before.references, after.references);
  const olds = new Set(before.methods.map(({ name }) => name));
  const news = new Map(after.methods.map((method) => [method.name, method]));
  const added = after.methods.filter(({ name }) => !olds.has(name));
  const findings = before.methods.flatMap((old) => {
    const fresh = news.get(old.name);
    const found =
      fresh === undefined
        ? [breaking('', comparison.removed(old, added))]
        : comparison.methods(old, fresh);
    return found.map((finding) => ({ method: old.name, ...finding }));
  });
  return { findings, added: added.map(({ name }) => name), methods: before.methods.length };
}

/** Makes of a schema of one document what is compared; undefined: any value. */
type ToPart = (schema: unknown) => Part;

function partsOf(references: References): ToPart {
  return (schema) => (schema === undefined ? [] : [{ schema, root: schema, references }]);
}

class ApiComparison {
  readonly #old: ToPart;
  readonly #fresh: ToPart;
  readonly #params: Comparison;
  readonly #results: Comparison;

  constructor(before: References, after: References) {
    const budget = { left: maxPairs };
    this.#old = partsOf(before);
    this.#fresh = partsOf(after);
    this.#params = new Comparison('params', budget);
    this.#results = new Comparison('result', budget);
  }

  /** A removed procedure that stands there under another name was renamed, most likely. */
  removed(old: Method, added: readonly Method[]): string {
    const text = signature(old, this.#old);
    const same = added.filter((method) => signature(method, this.#fresh) === text);
    const last = lastSegment(old.name);
    const renamed =
      same.length === 1 ? same[0] : same.find(({ name }) => lastSegment(name) === last);
    return renamed === undefined ? 'removed' : `removed; renamed to ${renamed.name}?`;
  }

  methods(old: Method, fresh: Method): readonly Finding[] {
    return [
      ...compareForms(old, fresh),
      ...(old.byPosition ? this.#positions(old, fresh) : this.#namedParams(old, fresh)),
      ...this.#result(old.raw.result, fresh.raw.result, 'result'),
      ...this.#streams(old, fresh),
      ...this.#errors(old, fresh),
    ];
  }

  /** Each value of the new schema must be one that the old contract names. */
  #result(old: unknown, fresh: unknown, path: string): readonly Finding[] {
    return this.#results.within(this.#fresh(fresh), this.#old(old), path);
  }

  /** The params as one object: required ones, optional ones, others. */
  #namedParams(old: Method, fresh: Method): readonly Finding[] {
    const findings = this.#params.shapes(paramsOf(old, this.#old), paramsOf(fresh, this.#fresh));
    return findings.map((finding) => ({ ...finding, path: `params${finding.path}` }));
  }

  #positions({ params: olds }: Method, { params: news }: Method): readonly Finding[] {
    const findings = olds.flatMap(({ schema, required }, index) => {
      const at = `params[${index}]`;
      const param = news[index];
      if (param === undefined) return [breaking(at, 'it is no longer taken')];
      return [
        ...(param.required && !required ? [breaking(at, 'it is required now')] : []),
        ...this.#params.within(this.#old(schema), this.#fresh(param.schema), at),
      ];
    });
    const more = news.flatMap(({ required }, index) =>
      required && index >= olds.length ? [breaking(`params[${index}]`, 'it is required now')] : [],
    );
    return [...findings, ...more];
  }

  /** A stream is read in another way than a result: its callers break if it ceases to be one, and the other way about. */
  #streams(
    { stream: before, raw: olds }: Method,
    { stream: after, raw: news }: Method,
  ): readonly Finding[] {
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
      ...this.#result(olds.yields, news.yields, 'yields'),
      ...moved,
      ...(before.collects && !after.collects
        ? [breaking('', 'it no longer answers with all values where it is not read as a stream')]
        : []),
    ];
  }

  #errors(old: Method, fresh: Method): Finding[] {
    const news = new Map(fresh.errors.map((error) => [error.name, error]));
    return old.errors.flatMap(({ name, code, schema: data }) => {
      const at = memberPath('errors', name);
      const successor = news.get(name);
      // An error that never comes again breaks nobody.
      if (successor === undefined) return [];
      const findings: Finding[] = [];
      if (successor.code !== code)
        findings.push(breaking(at, `code: was ${code}, is ${successor.code}`));
      if (data === undefined) return findings;
      return successor.schema === undefined
        ? [...findings, breaking(`${at}.data`, 'it is no longer sent')]
        : [...findings, ...this.#result(data, successor.schema, `${at}.data`)];
    });
  }
}

function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

/** A text that is equal for methods that take and give the same. */
function signature(method: Method, toPart: ToPart): string {
  const { params, raw, stream, byPosition } = method;
  const text = (schema: unknown): string => closedText(toPart(schema));
  const named = params.map(({ name, required, schema }) => [name, required, text(schema)]);
  const others = raw.rest === undefined ? null : text(raw.rest);
  const yields = stream === undefined ? null : text(raw.yields);
  return JSON.stringify([named, byPosition, others, text(raw.result), yields]);
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

function paramsOf({ params, raw: { rest } }: Method, toPart: ToPart): ObjectShape {
  const required = params.filter((param) => param.required);
  return {
    ...anyObject,
    members: new Map(params.map(({ name, schema }) => [name, toPart(schema)])),
    required: new Set(required.map(({ name }) => name)),
    others: rest === undefined ? undefined : toPart(rest),
  };
}
