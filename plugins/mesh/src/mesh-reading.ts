import { setImmediate as yieldToOthers } from 'node:timers/promises'
import type { ExecLease, ExecLeaseList, MeshSettings, NodeListWire, NodeRecord } from '@svc/contracts'
import { isSvcError, raceAbort, type SvcError } from '@svc/plugin-sdk'
import { callControl, type PlaneProbe, probeControl } from './control-client.ts'
import { meshPluginErrors } from './errors.ts'
import { isNodeRecord, type LeaseRow, leaseRowOf, type NodeRow, type NodeState, nodeRowOf } from './mesh-rows.ts'

/** How long a reading is used, in milliseconds. */
const KEEP_MS = 1_000
/** Limit of a whole reading, in milliseconds. */
const READ_MS = 20_000
/** Share of the time that readings may take: those of a large mesh are made less often. */
const MAX_SHARE = 0.1
/** Rows that are computed before the event loop gets its turn. */
const ROWS_PER_TURN = 500

/** State of a mesh at one time. */
export interface MeshReading {
  /** One for each configured URL, in their order. Empty: this project has joined no mesh. */
  readonly planes: readonly PlaneProbe[]
  /** By id. */
  readonly nodes: readonly NodeRow[]
  /** Why the nodes could not be read; null if they were. */
  readonly error: SvcError | null
  /** By id. */
  readonly leases: readonly LeaseRow[]
  /** Why the leases could not be read, such as a token without the right to list them; null if they were. */
  readonly leasesError: SvcError | null
  /** Messages that wait in all mailboxes; null if unknown. */
  readonly queueDepth: number | null
}

export interface MeshReaderOptions {
  readonly settings: Pick<MeshSettings, 'controlUrls' | 'nodeId' | 'token'>
  /** Age in milliseconds above which a node is stale; 0: never. */
  readonly staleMs: () => number
}

/** Reads the state of the mesh from its control planes. Callers within a second share one reading. */
export class MeshReader {
  readonly #options: MeshReaderOptions
  #kept: { readonly reading: Promise<MeshReading>; until: number } | null = null

  constructor(options: MeshReaderOptions) {
    this.#options = options
  }

  /** Drops the reading, after a change of the mesh by this process. */
  forget(): void {
    this.#kept = null
  }

  /** Rejects with an error of the settings, such as `MSH_URL_INVALID`, and if the signal aborts. */
  async read(signal: AbortSignal): Promise<MeshReading> {
    if (this.#kept === null || performance.now() >= this.#kept.until) {
      const begun = performance.now()
      const kept = { reading: this.#read(AbortSignal.timeout(READ_MS)), until: Number.POSITIVE_INFINITY }
      this.#kept = kept
      kept.reading.then(
        () => {
          const now = performance.now()
          kept.until = now + Math.max(KEEP_MS, (now - begun) / MAX_SHARE)
        },
        () => {
          if (this.#kept === kept) this.#kept = null
        }
      )
    }
    return raceAbort(signal, this.#kept.reading)
  }

  async #read(signal: AbortSignal): Promise<MeshReading> {
    const { settings } = this.#options
    const urls = settings.controlUrls
    const planes = await Promise.all(urls.map(url => probeControl(url, signal)))
    const responding = planes.filter(({ state }) => state !== 'unreachable').map(({ url }) => url)
    const nothing = { planes, nodes: [], leases: [], queueDepth: null }
    if (urls.length === 0) return { ...nothing, error: null, leasesError: null }
    if (responding.length === 0) {
      const error = unreachable(planes)
      return { ...nothing, error, leasesError: error }
    }
    const [nodes, leases] = await Promise.all([
      outcome(this.#nodes(responding, signal)),
      outcome(this.#leases(responding, signal))
    ])
    const held = leases.value === null ? null : countByHolder(leases.value)
    const { records = [], stale = new Set<string>(), queueDepth = null } = nodes.value ?? {}
    const rows = await slices(records, node =>
      nodeRowOf(node, { ownId: settings.nodeId, stale, leases: held, now: Date.now() })
    )
    const states = new Map<string, NodeState>(rows.map(({ id, state }) => [id, state]))
    return {
      planes,
      nodes: rows,
      error: nodes.error,
      leases: await slices(leases.value ?? [], lease => leaseRowOf(lease, states)),
      leasesError: leases.error,
      queueDepth
    }
  }

  /** Reads the nodes. The control plane decides which are stale, as the clock of this machine may differ. */
  async #nodes(urls: readonly string[], signal: AbortSignal) {
    const { settings, staleMs } = this.#options
    const token = settings.token('worker')
    const read = async (path: string) =>
      (await callControl(urls, { method: 'GET', path, token, signal })) as Partial<NodeListWire> | null
    const list = await read('/nodes')
    const records = Array.isArray(list?.nodes) ? list.nodes.filter(isNodeRecord) : []
    const version = list?.version
    const limit = staleMs()
    let stale: readonly unknown[] | undefined
    if (typeof version === 'number' && limit > 0)
      stale = (await read(`/nodes?since=${version}&stale_ms=${limit}`))?.stale ?? []
    return {
      records: byId(records, ({ id }) => id),
      stale: new Set(
        stale === undefined ? staleByOwnClock(records, limit) : stale.filter(each => typeof each === 'string')
      ),
      queueDepth: typeof list?.queue_depth === 'number' ? Math.floor(list.queue_depth) : null
    }
  }

  async #leases(urls: readonly string[], signal: AbortSignal): Promise<readonly ExecLease[]> {
    const call = { method: 'GET', path: '/exec/leases', token: this.#options.settings.token('admin'), signal } as const
    const list = (await callControl(urls, call)) as Partial<ExecLeaseList> | null
    const leases = Array.isArray(list?.leases) ? list.leases : []
    return leases.filter(lease => typeof lease?.lease_id === 'string' && typeof lease.holder_node_id === 'string')
  }
}

/** For a control plane that does not report stale nodes. */
function staleByOwnClock(records: readonly NodeRecord[], limit: number): string[] {
  const now = Date.now()
  return records.filter(({ last_seen_unix_ms: seen }) => limit > 0 && now - seen > limit).map(({ id }) => id)
}

/** Returns the records by id, one of each. */
function byId<A>(records: readonly A[], idOf: (record: A) => string): A[] {
  const unique = new Map(records.map(record => [idOf(record), record]))
  return [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, record]) => record)
}

function countByHolder(leases: readonly ExecLease[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { holder_node_id: id } of leases) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}

async function slices<A, B>(items: readonly A[], convert: (item: A) => B): Promise<B[]> {
  const converted: B[] = []
  for (const item of items) {
    converted.push(convert(item))
    if (converted.length % ROWS_PER_TURN === 0) await yieldToOthers()
  }
  return converted
}

/** Catches errors of this plugin, which a page shows. Others, such as the time limit, become `MSP_UNREACHABLE`. */
async function outcome<A>(
  promise: Promise<A>
): Promise<{ readonly value: A; readonly error: null } | { readonly value: null; readonly error: SvcError }> {
  try {
    return { value: await promise, error: null }
  } catch (error) {
    if (isSvcError(error)) return { value: null, error }
    const timedOut = meshPluginErrors.create('MSP_UNREACHABLE', 'the control plane did not answer in time', {
      hint: 'check its load, and that its store responds: GET /ready of the control plane',
      cause: error
    })
    return { value: null, error: timedOut }
  }
}

function unreachable(planes: readonly PlaneProbe[]): SvcError {
  const shown = planes.map(({ url, detail }) => `${url} (${detail})`).join(', ')
  return meshPluginErrors.create('MSP_UNREACHABLE', `no control plane responds: ${shown}`, {
    data: { urls: planes.map(({ url }) => url) },
    hint: 'check the URL, and that svc mesh serve runs there'
  })
}
