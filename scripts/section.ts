/**
 * Puts a section between `<!-- NAME:start -->` and `<!-- NAME:end -->` of a page.
 *
 * @throws Error if the page has no such markers
 */
export function withSection(page: string, name: string, section: string): string {
  const [start, end] = [`<!-- ${name}:start -->`, `<!-- ${name}:end -->`];
  const from = page.indexOf(start);
  const to = page.indexOf(end);
  if (from === -1 || to < from) throw new Error(`a page lacks ${start} and ${end}`);
  return `${page.slice(0, from + start.length)}\n\n${section}\n\n${page.slice(to)}`;
}
