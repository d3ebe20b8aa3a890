/** A number of things in a message: `1 worker`, `2 workers`. */
export function counted(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
