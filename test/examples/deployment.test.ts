/** The Dockerfile, the compose file and Prometheus's, read against the options that there are. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { misspeltVariables, resolveConfig } from '../../src/core/config/config.ts';
import { flagOf, type Option, variableOf } from '../../src/core/config/option.ts';
import { table } from '../../src/core/config/table.ts';
import { root } from '../files.ts';
import { environmentOf, readCompose } from './compose.ts';

/** What a Dockerfile says of the image that its last stage makes. */
function readDockerfile(text: string) {
  const lines = text.replace(/\\\n\s*/g, ' ').split('\n');
  const last = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')));
  const of = (word: string): string[] =>
    last.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));
  return {
    env: Object.fromEntries(of('ENV').map((pair) => pair.split(/=(.*)/s).slice(0, 2))),
    exposed: of('EXPOSE').flatMap((ports) => ports.split(' ').map(Number)),
    health: of('HEALTHCHECK')[0] ?? '',
    /** The exec form of CMD. */
    command: JSON.parse(of('CMD')[0] ?? '[]') as string[],
  };
}

const folder = join(root, 'examples/deployment');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
const { env, exposed, health, command } = readDockerfile(read('Dockerfile'));
const options = Object.entries(table) as [string, Option<unknown>][];

const services = readCompose(read('compose.yaml'));
const passwords = { GATEWAY_PASSWORD: 'secret', MEMBER_PASSWORD: 'secret' };

/** What a process of a service gets: the image's own environment, and that of the compose file. */
function wholeEnvironment(name: string): Record<string, string> {
  return { ...env, ...environmentOf(services[name], passwords) };
}

/** The `--flags` of a command line of this package. */
function flagsOf(line: readonly string[]): string[] {
  return line.filter((word) => word.startsWith('--'));
}

describe('the files for containers', () => {
  test('name variables that there are, with values that are allowed', () => {
    const known = options.map(([name, option]) => variableOf(name, option));
    for (const given of [env, wholeEnvironment('gateway'), wholeEnvironment('member')]) {
      const own = Object.keys(given).filter((name) => name.startsWith('TANDEM_'));
      assert.deepEqual(
        own.filter((name) => !known.includes(name)),
        [],
      );
      assert.deepEqual(misspeltVariables(given), []);
      assert.equal(resolveConfig({}, given).host, '0.0.0.0');
    }
    assert.deepEqual(resolveConfig({}, wholeEnvironment('member')).nats.length, 1);
  });

  test('have flags that there are, and commands of this package', () => {
    const flags = options.flatMap(([name, option]) => [
      `--${flagOf(name, option)}`,
      `--no-${flagOf(name, option)}`,
    ]);
    for (const line of [command, services.gateway?.command ?? []]) {
      assert.equal(line[0], 'node_modules/.bin/tandem');
      assert.ok(['serve', 'gateway'].includes(line[1] ?? ''));
      for (const flag of flagsOf(line)) assert.ok(flags.includes(flag), flag);
    }
  });

  test('have the ports, paths and times of those options', () => {
    const config = resolveConfig({}, env);
    assert.deepEqual(exposed, [config.port, config.metricsPort]);
    assert.ok(health.includes(`http://127.0.0.1:${config.metricsPort}/readyz`));
    assert.deepEqual(services.gateway?.ports, [`${config.port}:${config.port}`]);
    const [scrape] = parse(read('prometheus.yml')).scrape_configs[0].dns_sd_configs;
    assert.equal(scrape.port, config.metricsPort);
    for (const name of scrape.names) assert.ok(name in services, name);
    for (const name of ['gateway', 'member']) {
      const seconds = Number.parseInt(services[name]?.stop_grace_period ?? '', 10);
      assert.ok(seconds * 1000 >= config.shutdownGraceMs + 5000);
    }
  });

  test('mount files that are there', () => {
    for (const { volumes = [] } of Object.values(services)) {
      for (const volume of volumes) readFileSync(join(folder, volume.split(':')[0] ?? ''));
    }
  });
});
