/** A number without decimals, as people read it. */

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

export function perSecond(value: number): string {
  const digits = value > 0 && value < 10 ? 1 : 0;
  return `${value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })}/s`;
}

/** Seconds with three digits and a unit; `-` for undefined. */
export function showSeconds(seconds: number | undefined): string {
  if (seconds === undefined || Number.isNaN(seconds)) return '-';
  if (seconds === Number.POSITIVE_INFINITY) return '> 60 s';
  if (seconds < 0.001) return `${digits(seconds * 1e6)} us`;
  return seconds < 1 ? `${digits(seconds * 1000)} ms` : `${digits(seconds)} s`;
}

function digits(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2);
}

export function showBytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(0)} MB`;
}

/** A time span in its two largest units. */
export function showSpan(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s}s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${s % 60}s`;
  if (s < 86_400) return `${Math.floor(s / 3600)}h ${Math.floor((s % 3600) / 60)}m`;
  return `${Math.floor(s / 86_400)}d ${Math.floor((s % 86_400) / 3600)}h`;
}
