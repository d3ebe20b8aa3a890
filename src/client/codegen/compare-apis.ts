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

/** A method of one of the two documents. */
interface Side {
  readonly method: Method;
  readonly references: References;
}

/**
 * What of the old contract the new one breaks: for callers that were written against the old one, and follow it. They send
 * what its params allow, and no members of which it says nothing; and they pass over members of a result that it does not
 * name.
 *
 * @throws CodegenError for a reference that leads nowhere
 */
export function compareApis(before: Api, after: Api): Compatibility {
  const budget = { left: maxPairs };
  const [params, result] = [new Comparison('params', budget), new Comparison('result', budget)];
  const olds = new Set(before.methods.map(({ name }) => name));
  const news = new Map(after.methods.map((method) => [method.name, method]));
  const added = after.methods.filter(({ name }) => !olds.has(name));
  const findings = before.methods.flatMap((method) => {
    const successor = news.get(method.name);
    const old = { method, references: before.references };
    const found =
      successor === undefined
        ? [breaking('', removed(old, added, after.references))]
        : compareMethods(old, { method: successor, references: after.references }, params, result);
    return found.map((finding) => ({ method: method.name, ...finding }));
  });
  return { findings, added: added.map(({ name }) => name), methods: before.methods.length };
}

/** A removed procedure that stands there under another name was renamed, most likely. */
function removed(old: Side, added: readonly Method[], references: References): string {
  const text = signature(old);
  const same = added.filter((method) => signature({ method, references }) === text);
  const last = lastSegment(old.method.name);
  const renamed = same.length === 1 ? same[0] : same.find(({ name }) => lastSegment(name) === last);
  return renamed === undefined ? 'removed' : `removed; renamed to ${renamed.name}?`;
}

function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

/** A text that is equal for methods that take and give the same. */
function signature({ method, references }: Side): string {
  const { params, rest, result, stream, byPosition } = method;
  const text = (schema: unknown): string => closedText(toPart(schema, references));
  const named = params.map(({ name, required, schema }) => [name, required, text(schema)]);
  const others = rest === undefined ? null : text(rest);
  const yields = stream === undefined ? null : text(stream.yields);
  return JSON.stringify([named, byPosition, others, text(result), yields]);
}

function compareMethods(
  old: Side,
  fresh: Side,
  params: Comparison,
  result: Comparison,
): readonly Finding[] {
  const data = compareErrors(old, fresh, result);
  return [
    ...compareForms(old.method, fresh.method),
    ...(old.method.byPosition
      ? comparePositions(old, fresh, params)
      : compareParams(old, fresh, params)),
    ...result.within(
      toPart(fresh.method.result, fresh.references),
      toPart(old.method.result, old.references),
      'result',
    ),
    ...compareStreams(old, fresh, result),
    ...data,
  ];
}

/** A stream is read in another way than a result: its callers break where it ceases to be one, and the other way about. */
function compareStreams(old: Side, fresh: Side, result: Comparison): readonly Finding[] {
  const [before, after] = [old.method.stream, fresh.method.stream];
  if (before === undefined || after === undefined) {
    if (before === after) return [];
    return [breaking('', before === undefined ? 'it is a stream now' : 'it is no longer a stream')];
  }
  const moved = (['notification', 'unsubscribe'] as const).flatMap((name) => {
    const [was, is] = [before[name], after[name]];
    // A name that nobody had to know may come.
    if (was === undefined || was === is) return [];
    return [breaking(name, is === undefined ? `was ${was}, is gone` : `was ${was}, is ${is}`)];
  });
  return [
    ...result.within(
      toPart(after.yields, fresh.references),
      toPart(before.yields, old.references),
      'yields',
    ),
    ...moved,
    ...(before.collects && !after.collects
      ? [breaking('', 'it no longer answers with all values where it is not read as a stream')]
      : []),
  ];
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

/** The params as one object: required ones, optional ones, others. */
function compareParams(old: Side, fresh: Side, comparison: Comparison): readonly Finding[] {
  const findings = comparison.shapes(namedParams(old), namedParams(fresh));
  return findings.map((finding) => ({ ...finding, path: `params${finding.path}` }));
}

function comparePositions(old: Side, fresh: Side, comparison: Comparison): readonly Finding[] {
  const news = fresh.method.params;
  const olds = old.method.params;
  const findings = olds.flatMap(({ schema, required }, index) => {
    const at = `params[${index}]`;
    const param = news[index];
    if (param === undefined) return [breaking(at, 'it is no longer taken')];
    return [
      ...(param.required && !required ? [breaking(at, 'it is required now')] : []),
      ...comparison.within(
        toPart(schema, old.references),
        toPart(param.schema, fresh.references),
        at,
      ),
    ];
  });
  const more = news
    .slice(olds.length)
    .flatMap(({ required }, index) =>
      required ? [breaking(`params[${olds.length + index}]`, 'it is required now')] : [],
    );
  return [...findings, ...more];
}

function compareErrors(old: Side, fresh: Side, result: Comparison): Finding[] {
  const news = new Map(fresh.method.errors.map((error) => [error.name, error]));
  return old.method.errors.flatMap((error) => {
    const at = memberPath('errors', error.name);
    const successor = news.get(error.name);
    // An error that never comes again breaks nobody.
    if (successor === undefined) return [];
    return [
      ...(successor.code === error.code
        ? []
        : [breaking(at, `code: was ${error.code}, is ${successor.code}`)]),
      ...compareData(successor.data, error.data, `${at}.data`),
    ];
  });

  function compareData(data: unknown, before: unknown, at: string): readonly Finding[] {
    if (before === undefined) return [];
    if (data === undefined) return [breaking(at, 'it is no longer sent')];
    return result.within(toPart(data, fresh.references), toPart(before, old.references), at);
  }
}

function toPart(schema: unknown, references: References): Part {
  return schema === undefined ? [] : [{ schema, root: schema, references }];
}

function namedParams({ method: { params, rest }, references }: Side): ObjectShape {
  const required = params.filter((param) => param.required);
  return {
    ...anyObject,
    members: new Map(params.map(({ name, schema }) => [name, toPart(schema, references)])),
    required: new Set(required.map(({ name }) => name)),
    others: rest === undefined ? undefined : toPart(rest, references),
  };
}
