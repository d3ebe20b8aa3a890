import { endpointName } from './names.ts';

/** Who answers, as clients of micro services see it (NATS ADR-32). */
export interface ServiceIdentity {
  readonly name: string;
  readonly id: string;
  /** Semantic. */
  readonly version: string;
  /** ISO 8601. */
  readonly started: string;
}

/** What one endpoint has answered since the service started. */
export interface EndpointFigures {
  readonly subject: string;
  /** As callers know it; `rpc` for the endpoint of whole requests. */
  readonly name: string;
  readonly requests: number;
  readonly errors: number;
  /** `-32602:Invalid params`; the empty text: none. */
  readonly lastError: string;
  /** Milliseconds from receipt to answer, of all requests together. */
  readonly ms: number;
}

/** The queue group that members share for endpoints. */
export const queueGroup = 'q';

const protocol = '1';

export function pingText(identity: ServiceIdentity, contract: string): string {
  return JSON.stringify({
    type: 'io.nats.micro.v1.ping_response',
    ...common(identity),
    metadata: metadata(contract),
  });
}

export function infoText(
  identity: ServiceIdentity,
  contract: string,
  endpoints: Iterable<EndpointFigures>,
  maxBytes: number,
): string {
  const head = {
    type: 'io.nats.micro.v1.info_response',
    ...common(identity),
    description: 'A service of Tandem RPC: params of a procedure in, its result out.',
  };
  return listed(head, contract, endpoints, maxBytes, ({ name, subject }) =>
    JSON.stringify({
      name: endpointName(name),
      subject,
      queue_group: queueGroup,
      metadata: { procedure: name },
    }),
  );
}

export function statsText(
  identity: ServiceIdentity,
  contract: string,
  endpoints: Iterable<EndpointFigures>,
  maxBytes: number,
): string {
  const head = {
    type: 'io.nats.micro.v1.stats_response',
    ...common(identity),
    started: identity.started,
  };
  return listed(head, contract, endpoints, maxBytes, (endpoint) => {
    const { name, subject, requests, errors, lastError, ms } = endpoint;
    const nanoseconds = Math.round(ms * 1e6);
    return JSON.stringify({
      name: endpointName(name),
      subject,
      queue_group: queueGroup,
      num_requests: requests,
      num_errors: errors,
      last_error: lastError,
      processing_time: nanoseconds,
      average_processing_time: requests === 0 ? 0 : Math.round(nanoseconds / requests),
    });
  });
}

function common({ name, id, version }: ServiceIdentity): object {
  return { name, id, version };
}

function metadata(contract: string): Record<string, string> {
  return { 'tandem-contract': contract, 'tandem-protocol': protocol };
}

/**
 * An answer with a list of endpoints, cut where the answer would be larger than one message. A longer answer would not be
 * sent at all. `tandem-omitted` says how many endpoints are missing.
 */
function listed(
  head: object,
  contract: string,
  endpoints: Iterable<EndpointFigures>,
  maxBytes: number,
  toText: (endpoint: EndpointFigures) => string,
): string {
  const answer = (texts: readonly string[], omitted: number): string => {
    const all = {
      ...metadata(contract),
      ...(omitted > 0 && { 'tandem-omitted': String(omitted) }),
    };
    const rest = JSON.stringify({ ...head, metadata: all }).slice(0, -1);
    return `${rest},"endpoints":[${texts.join(',')}]}`;
  };
  let room = maxBytes - Buffer.byteLength(answer([], Number.MAX_SAFE_INTEGER));
  const texts: string[] = [];
  let omitted = 0;
  for (const endpoint of endpoints) {
    const text = toText(endpoint);
    room -= Buffer.byteLength(text) + 1;
    if (room < 0) omitted++;
    else texts.push(text);
  }
  return answer(texts, omitted);
}
