import { model, Router, RpcError, type Static, Type } from 'tandem-rpc';

export const shop = new Router();

const Item = model({
  sku: Type.String({ pattern: '^[A-Z]{3}-[0-9]{3}$', examples: ['MUG-001'] }),
  quantity: Type.Integer({ minimum: 1, maximum: 1000 }),
});

const Order = model({
  customer: model({
    name: Type.String({ minLength: 1 }),
    country: Type.Union([Type.Literal('DE'), Type.Literal('FR'), Type.Literal('US')]),
  }),
  items: Type.Array(Item, { minItems: 1, maxItems: 100 }),
  discountPercent: Type.Optional(Type.Number({ minimum: 0, maximum: 100 })),
});

const Invoice = Type.Object({
  netCents: Type.Integer(),
  taxCents: Type.Integer(),
  totalCents: Type.Integer(),
  lines: Type.Array(Type.Object({ sku: Type.String(), cents: Type.Integer() })),
});

const taxPercent = { DE: 19, FR: 20, US: 0 } as const;

const catalogue = new Map([
  ['MUG-001', { cents: 1290, stock: 40 }],
  ['TEE-002', { cents: 2490, stock: 12 }],
  ['PEN-003', { cents: 350, stock: 900 }],
]);

const unknownArticle = 2001;
const outOfStock = 2002;

function priceLine({ sku, quantity }: Static<typeof Item>): { sku: string; cents: number } {
  const article = catalogue.get(sku);
  if (article === undefined) throw new RpcError(unknownArticle, 'Unknown article', { sku });
  if (article.stock < quantity) {
    throw new RpcError(outOfStock, 'Out of stock', { sku, available: article.stock });
  }
  return { sku, cents: article.cents * quantity };
}

shop.rpc(
  {
    name: 'price',
    doc: 'The invoice of an order; errors 2001 (unknown article) and 2002 (out of stock).',
    params: Type.Object({ order: Order }),
    returns: Invoice,
  },
  ({ order }) => {
    const lines = order.items.map(priceLine);
    const sum = lines.reduce((cents, line) => cents + line.cents, 0);
    const netCents = Math.round((sum * (100 - (order.discountPercent ?? 0))) / 100);
    const taxCents = Math.round((netCents * taxPercent[order.customer.country]) / 100);
    return { netCents, taxCents, totalCents: netCents + taxCents, lines };
  },
);
