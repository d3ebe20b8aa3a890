/** Checked by the compiler alone: each `@ts-expect-error` fails the type check when nothing is wrong there. */

import { procedure, Router, Type } from '../../src/index.ts';

const router = new Router();
const params = Type.Object({ docId: Type.String(), page: Type.Integer() });

// The params of the handler are those of the schema, whatever the affinity is.
router.rpc({ name: 'a', params, affinity: 'docId' }, ({ docId, page }) => docId.repeat(page));
router.rpc({ name: 'b', params, affinity: 'caller' }, ({ docId }) => docId);
router.procedure({ params: { docId: Type.String() }, affinity: 'docId' }, ({ docId }) => docId);
procedure({ params, affinity: 'page' }, ({ page }) => page);

// Without a schema any object is taken.
router.rpc({ name: 'c', affinity: 'anything' }, () => 1);

// @ts-expect-error: no param
router.rpc({ name: 'd', params, affinity: 'docid' }, () => 1);
// @ts-expect-error: no param
procedure({ params, affinity: 'callers' }, () => 1);
// @ts-expect-error: not beside batch
router.rpc({ name: 'e', params, affinity: 'docId', batch: { max: 8 } }, (all) => all);

class Documents {
  @router.rpc({ params, affinity: 'docId' })
  render({ docId }: { docId: string }): string {
    return docId;
  }
}
void Documents;
