import type { Project } from './projecting.ts';

/** What came of the objects of one result, by the function that projected them: each projects an object once. */
type Projected = Map<Project, Map<object, unknown>>;

/**
 * Remembers what came of objects while one result is projected. Where variants are tried, an object would otherwise be
 * projected again for each variant that leads to it.
 */
export class ProjectedObjects {
  #projected: Projected | undefined;

  /** From now on what comes of objects is remembered. @returns for `end` */
  begin(): Projected | undefined {
    const before = this.#projected;
    this.#projected = new Map();
    return before;
  }

  /** Forgets it. @param before what `begin` returned: a result may be projected within another one */
  end(before: Projected | undefined): void {
    this.#projected = before;
  }

  /** What `project` makes of `value`: of an object once, while it is remembered. */
  once(project: Project, value: unknown): unknown {
    if (this.#projected === undefined || typeof value !== 'object' || value === null)
      return project(value);
    const known = this.#projected.get(project) ?? new Map<object, unknown>();
    this.#projected.set(project, known);
    if (known.has(value)) return known.get(value);
    const projected = project(value);
    known.set(value, projected);
    return projected;
  }
}
