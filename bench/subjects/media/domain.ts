/** What the example's service is made of, by a path as short as its own: the lines of the services are compared. */
export * from '../../../examples/media/domain/accounts.ts';
export * from '../../../examples/media/domain/csv.ts';
export * from '../../../examples/media/domain/images.ts';
export * from '../../../examples/media/domain/library.ts';
