import type { Kind } from './kind.ts';
import { splitList } from './lists.ts';
import { inRange, type Range, readAmount } from './numbers.ts';

/** What one caller may take, as the option `rateLimit` has it. */
export interface Rate {
  readonly calls: number;
  readonly costMs: number;
  readonly burstSeconds: number;
}

const rateRanges: Readonly<Record<keyof Rate, Range>> = {
  calls: { min: 1, max: 1_000_000, orZero: true },
  costMs: { min: 1, max: 1_000_000, orZero: true },
  burstSeconds: { min: 1, max: 3600 },
};

/** `calls=100,costMs=500,burstSeconds=2`, in code an object of these; the word `none` is no limit. */
export function rate(): Kind<Rate> {
  return {
    placeholder: 'rate',
    allowed:
      'none, or calls and costMs a second and burstSeconds, whole numbers: calls=100,burstSeconds=2; in code an object of these',
    repeatable: false,
    fromText: (text) => {
      if (text.trim() === 'none') return 'none';
      const pairs = splitList(text).map((entry) => entry.split('='));
      return Object.fromEntries(
        pairs.map(([name = '', value = '']) => [name.trim(), readAmount(value, { '': 1 })]),
      );
    },
    check: (value) => {
      if (value === 'none') return checkRate({});
      return typeof value === 'object' && value !== null && !Array.isArray(value)
        ? checkRate(value)
        : undefined;
    },
    toText: ({ calls, costMs, burstSeconds }: Rate) => {
      const parts = [calls > 0 && `calls=${calls}`, costMs > 0 && `costMs=${costMs}`];
      const given = parts.filter((part) => part !== false);
      return given.length === 0 ? 'none' : [...given, `burstSeconds=${burstSeconds}`].join(',');
    },
  };
}

function checkRate(given: object): Rate | undefined {
  const rate: Record<string, number> = { calls: 0, costMs: 0, burstSeconds: 1 };
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (!Object.hasOwn(rateRanges, name)) return undefined;
    const settled = inRange(value, rateRanges[name as keyof Rate]);
    if (settled === undefined) return undefined;
    rate[name] = settled;
  }
  // Begun with all of its members.
  return Object.freeze(rate as unknown as Rate);
}
