import { type Coordination, type StoredNode, VIEW_EXPIRY_MS, type ViewBody, viewBody } from '@svc/contracts'
import { getRoute, type MeshRoute, NO_CONTENT, postRoute } from './mesh-routes.ts'
import type { NodeRegistry } from './node-registry.ts'
import { RecordLimit } from './record-limit.ts'
import { refuse } from './refusal.ts'
import type { MeshScope } from './scope.ts'

/** Maximum bytes of views in one answer; the first view always fits. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024
/** Views that one request removes because their processes have long been silent. */
const MAX_REMOVED = 20
/** Age in milliseconds at which a view is removed from the store. */
const REMOVE_AFTER_MS = 20 * VIEW_EXPIRY_MS
const MAX_ATTEMPTS = 5
/** Maximum bytes of one view: 500 tasks of an average length. */
const MAX_VIEW_BYTES = 1024 * 1024
/** Maximum bytes of all stored views, which a request reads at once. */
const MAX_STORED_BYTES = 32 * 1024 * 1024
/** How long the stored views are used, in milliseconds: concurrent requests share one reading. */
const KEEP_MS = 250

export interface ViewParts {
  readonly store: () => Coordination
  readonly scope: MeshScope
  readonly nodes: NodeRegistry
}

/**
 * Routes of the extension by which processes publish their open tasks. A view is listed for 30 s after it was published,
 * or confirmed by publishing it again.
 */
export function viewRoutes({ store, scope, nodes }: ViewParts): readonly MeshRoute[] {
  const views = `views:${scope.stored}`
  let kept: { readonly at: number; readonly stored: Promise<readonly StoredNode[]> } | null = null
  const read = (): Promise<readonly StoredNode[]> => {
    if (kept === null || performance.now() - kept.at >= KEEP_MS) {
      const reading = { at: performance.now(), stored: readViews() }
      kept = reading
      reading.stored.catch(() => {
        if (kept === reading) kept = null
      })
    }
    return kept.stored
  }
  const readViews = async (): Promise<readonly StoredNode[]> => (await store().nodes.list(views)).nodes
  const limit = new RecordLimit({
    what: 'the view of a process',
    remedy: `views of processes that ended are removed after ${REMOVE_AFTER_MS / 1_000} s`,
    maxBytes: MAX_VIEW_BYTES,
    maxTotalBytes: MAX_STORED_BYTES,
    maxGrownBytes: MAX_STORED_BYTES,
    total: async () => (await read()).reduce((sum, { record }) => sum + Buffer.byteLength(record), 0)
  })
  const publish = async (body: ViewBody): Promise<void> => {
    await nodes.requireJoined(body.node_id)
    const record = storedText(body)
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const known = await store().nodes.find(views, body.node_id)
      await limit.assertRoom(record, known?.record ?? null)
      if (known?.record === record && (await store().nodes.seen(views, [body.node_id])).length > 0) return
      if ((await store().nodes.put(views, body.node_id, record, known?.version ?? null)) !== null) {
        kept = null
        return
      }
    }
    throw refuse('MSC_UNAVAILABLE', 'too many changes of the same view at once; try again', 1_000)
  }
  const list = async (repository: string): Promise<string> => {
    const now = await store().now()
    const beginning = beginningOf(repository)
    const texts: string[] = []
    const silent: string[] = []
    let size = 0
    for (const { id, record, version, seenAt } of await read()) {
      if (now - seenAt > REMOVE_AFTER_MS) silent.push(id)
      if (now - seenAt > VIEW_EXPIRY_MS || !record.startsWith(beginning)) continue
      const text = `{"version":${version},${record.slice(1)}`
      size += Buffer.byteLength(text)
      if (texts.length > 0 && size > MAX_ANSWER_BYTES) break
      texts.push(text)
    }
    for (const id of silent.slice(0, MAX_REMOVED)) await store().nodes.remove(views, id)
    return `{"views":[${texts.join(',')}]}`
  }
  return [
    postRoute('/x/views', 'Publish the open tasks of a process', 'worker', viewBody, async body => {
      await publish(body)
      return NO_CONTENT
    }),
    getRoute('/x/views', 'List the open tasks of the processes of a repository', 'worker', async ({ query }) => {
      const repository = new URLSearchParams(query).get('repository_id')
      if (repository === null || repository === '')
        throw refuse('MSC_BODY_INVALID', 'the query must name repository_id')
      return { json: await list(repository) }
    })
  ]
}

/** Returns the JSON of a view, which begins with its repository: views of others are skipped without parsing. */
function storedText({ repository_id, ...rest }: ViewBody): string {
  return `${beginningOf(repository_id)}${JSON.stringify(rest).slice(1)}`
}

function beginningOf(repository: string): string {
  return `{"repository_id":${JSON.stringify(repository)},`
}
