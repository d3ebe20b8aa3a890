const oldest = 20;

/** Why this package cannot run here, in one line; undefined: it can. No import of this file may need a newer Node. */
export function nodeFault(): string | undefined {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) >= oldest) return undefined;
  return `tandem-rpc needs Node ${oldest} or later, and this is Node ${node}`;
}
