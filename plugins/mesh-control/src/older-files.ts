import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type Coordination, deliverBody, meshNodeId, type NodeReport, nodeReport } from '@svc/contracts'
import { errorMessage, isSvcError, type Logger, parseStrictJson, t } from '@svc/plugin-sdk'
import { schemaCheck } from '@svc/plugin-sdk/check'
import type { ExecLeases } from './exec-leases.ts'
import { usedJwtId } from './jwt.ts'
import type { Mailbox } from './mailbox.ts'
import type { NodeRegistry } from './node-registry.ts'
import type { MeshScope } from './scope.ts'
import type { Settings } from './settings.ts'

/** Maximum size of an imported file in bytes. */
const MAX_FILE_BYTES = 256 * 1024 * 1024
/** Entries between two turns of the event loop. */
const SLICE = 100

export interface ImportParts {
  readonly store: () => Coordination
  readonly scope: MeshScope
  readonly nodes: NodeRegistry
  readonly mailbox: Mailbox
  readonly leases: ExecLeases
  readonly log: Logger
  readonly signal: AbortSignal
}

type PathSettings = Pick<Settings, 'registry_path' | 'a2a_store_path' | 'exec_lease_store_path' | 'replay_state_path'>

const open = { additionalProperties: true }
const checkRegistry = schemaCheck(t.object({ nodes: t.array(t.unknown()) }, open))
const checkMailbox = schemaCheck(t.object({ messages: t.array(t.unknown()) }, open))
const checkLeases = schemaCheck(t.object({ leases: t.array(t.unknown()) }, open))
const checkNode = schemaCheck(nodeReport)
const checkMessage = schemaCheck(deliverBody)
const checkLease = schemaCheck(
  t.object({ scope_key: t.string(), holder_node_id: meshNodeId, expires_unix_ms: t.number() }, open)
)
const checkReplay = schemaCheck(t.object({ jti: t.optional(t.record(t.number())) }, open))

/**
 * Imports the files of older control planes, each of them once. A file that cannot be read is reported and tried again at
 * the next start; an entry that is invalid is reported and left out.
 */
export async function importOlderFiles(settings: PathSettings, parts: ImportParts): Promise<void> {
  const registry = settings.registry_path ?? join(homedir(), '.svc', 'cache', 'mesh', 'local-registry.json')
  const beside = (path: string | undefined, name: string) => resolve(path ?? join(dirname(registry), name))
  // Nodes come first: a lease needs its holder.
  await importOnce('registry', resolve(registry), parts, content => importNodes(content, parts))
  await importOnce('a2a-store', beside(settings.a2a_store_path, 'a2a-store.json'), parts, content =>
    importMessages(content, parts)
  )
  await importOnce(
    'exec-lease-store',
    beside(settings.exec_lease_store_path, 'exec-lease-store.json'),
    parts,
    content => importLeases(content, parts)
  )
  await importOnce('replay-state', beside(settings.replay_state_path, 'mesh-replay-state.json'), parts, content =>
    importUsedIds(content, parts)
  )
}

/** Counts of an imported file. */
interface Imported {
  readonly imported: number
  readonly skipped: number
}

async function importOnce(
  name: string,
  path: string,
  { store, scope, log, signal }: ImportParts,
  run: (content: unknown) => Promise<Imported>
): Promise<void> {
  if (signal.aborted) return
  try {
    const text = await textOf(path)
    if (text === null) return
    const marker = `mesh.imported.${scope.stored}.${name}`
    if ((await store().meta.get(marker)) !== null) return
    // Running it twice is harmless, losing it is not: the marker is set afterwards.
    const counts = await run(parseStrictJson(text))
    await store().meta.swap(marker, null, path)
    log.info(`imported ${path}`, { ...counts })
  } catch (error) {
    log.error(`cannot import ${path}: ${errorMessage(error)}`, { hint: 'correct or remove the file, then start again' })
  }
}

async function textOf(path: string): Promise<string | null> {
  try {
    const bytes = await readFile(path)
    if (bytes.length > MAX_FILE_BYTES) throw new Error(`it has more than ${MAX_FILE_BYTES} bytes`)
    return bytes.toString('utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw error
  }
}

async function importNodes(content: unknown, { nodes, scope }: ImportParts): Promise<Imported> {
  const list = listOf(checkRegistry, content, file => file.nodes)
  return each(list, async entry => {
    const node = checkNode(entry)
    if (!node.ok || (await nodes.find(node.value.id)) !== null) return false
    const report = node.value as NodeReport
    await nodes.join(scope.id === null ? report : { ...report, scope_id: scope.id })
    if (report.quarantined === true) await nodes.flag(report.id, { quarantined: true })
    return true
  })
}

async function importMessages(content: unknown, { mailbox }: ImportParts): Promise<Imported> {
  const list = listOf(checkMailbox, content, file => file.messages)
  return each(list, async entry => {
    const message = checkMessage(entry)
    if (!message.ok || (entry as { readonly acknowledged?: unknown }).acknowledged === true) return false
    const { payload_blake3_hex: _hex, worker_ed25519_sig_b64: _signature, ...body } = message.value
    // A key makes a second import harmless. The file's own id is unique in it.
    const own = `older-file-${String((entry as { readonly id?: unknown }).id)}`
    await mailbox.deliver({ ...body, idempotency_key: body.idempotency_key?.trim() || own })
    return true
  })
}

async function importLeases(content: unknown, { leases, store }: ImportParts): Promise<Imported> {
  const list = listOf(checkLeases, content, file => file.leases)
  const now = await store().now()
  return each(list, async entry => {
    const lease = checkLease(entry)
    if (!lease.ok || lease.value.expires_unix_ms <= now) return false
    await leases.grant({ claimer_node_id: lease.value.holder_node_id, scope_key: lease.value.scope_key })
    return true
  })
}

/** Imports the ids of used JWTs, so that those cannot be used again. Idempotency keys come with their messages. */
async function importUsedIds(content: unknown, { store }: ImportParts): Promise<Imported> {
  const file = checkReplay(content)
  if (!file.ok) throw new Error(file.text)
  return each(Object.entries(file.value.jti ?? {}), async ([jti, exp]) => {
    const [isFresh] = await store().useOnce([usedJwtId(jti, exp)])
    return isFresh === true
  })
}

function listOf<A>(
  check: (content: unknown) => { readonly ok: true; readonly value: A } | { readonly ok: false; readonly text: string },
  content: unknown,
  list: (file: A) => readonly unknown[]
): readonly unknown[] {
  const checked = check(content)
  if (!checked.ok) throw new Error(checked.text)
  return list(checked.value)
}

async function each<A>(entries: readonly A[], run: (entry: A) => Promise<boolean>): Promise<Imported> {
  let imported = 0
  for (const [index, entry] of entries.entries()) {
    if (index % SLICE === 0) await new Promise(resolve => setImmediate(resolve))
    try {
      if (await run(entry)) imported += 1
    } catch (error) {
      // A lease that another node holds, or a wrong agent id, concerns only this entry.
      if (!isSvcError(error) || error.status >= 500) throw error
    }
  }
  return { imported, skipped: entries.length - imported }
}
