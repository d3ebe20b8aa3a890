/** Milliseconds as people read them. */
export function msText(ms: number): string {
  if (ms > 0 && ms < 0.1) return `${Math.max(1, Math.round(ms * 1000))} µs`;
  if (ms >= 10_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  return ms >= 100
    ? `${Math.round(ms)} ms`
    : ms >= 1
      ? `${ms.toFixed(1)} ms`
      : `${ms.toFixed(2)} ms`;
}

/** A round number of milliseconds, as it stands at an axis. */
export function roundMsText(ms: number): string {
  const [value, unit] = ms >= 1000 ? [ms / 1000, 's'] : ms >= 1 ? [ms, 'ms'] : [ms * 1000, 'µs'];
  return `${Number(value.toPrecision(3))} ${unit}`;
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

export function timeText(at: Date): string {
  return at.toLocaleTimeString('en-GB');
}
