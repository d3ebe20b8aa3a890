/** Milliseconds as people read them. */
export function msText(ms: number): string {
  const [value, unit] = ms >= 1000 ? [ms / 1000, 's'] : ms >= 0.1 ? [ms, 'ms'] : [ms * 1000, 'µs'];
  return `${Number(value.toPrecision(3))} ${ms === 0 ? 'ms' : unit}`;
}

export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ['KB', 'MB', 'GB'];
  let value = bytes / 1024;
  let unit = 0;
  for (; value >= 1024 && unit < 2; unit++) value /= 1024;
  return `${value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** A rate or a count: whole above ten. */
export function numberText(value: number): string {
  if (value >= 10_000) return `${(value / 1000).toFixed(1)}k`;
  return value >= 10 || Number.isInteger(value)
    ? Math.round(value).toLocaleString('en')
    : value.toFixed(1);
}

/** A part of one core. */
export function shareText(share: number): string {
  return `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)}%`;
}

/** @param at Unix milliseconds, or a date */
export function timeText(at: number | Date): string {
  return new Date(at).toLocaleTimeString('en-GB');
}
