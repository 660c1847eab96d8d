import { randomUUID } from 'node:crypto'
import { link, mkdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ownIdentity, type ProcessIdentity, presenceOf } from '@svc/contracts'

/** Maximum number of processes of one project on one machine that join a mesh. */
const MAX_SEATS = 64

const TOUCH_MS = 10_000
/** Age of a file above which its seat is free, if the process cannot be checked, since its container or boot differs. */
const MAX_AGE_MS = 60_000

/** Number by which a process of this machine differs from the others, from 1; kept until {@link NodeSeat.release}. */
export interface NodeSeat {
  readonly number: number
  release(): Promise<void>
}

/**
 * Takes the lowest number that no running process holds. Each number is a file with the identity of its process. Two
 * processes with one node id would receive the same messages, since a node gets again what it has claimed.
 */
export async function takeNodeSeat(folder: string, identity: ProcessIdentity = ownIdentity()): Promise<NodeSeat> {
  await mkdir(folder, { recursive: true })
  const own = JSON.stringify({ ...identity, id: randomUUID() })
  const draft = join(folder, `seat-${randomUUID()}.new`)
  await writeFile(draft, own, { mode: 0o600 })
  try {
    for (let number = 1; number <= MAX_SEATS; number += 1) {
      const file = join(folder, `seat-${number}.json`)
      if (await take(draft, file)) return hold(file, own, number)
    }
  } finally {
    await rm(draft, { force: true })
  }
  throw new Error(`${folder} has ${MAX_SEATS} seats of running processes; stop one of them`)
}

function hold(file: string, own: string, number: number): NodeSeat {
  const timer = setInterval(() => void utimes(file, new Date(), new Date()).catch(() => {}), TOUCH_MS).unref()
  return {
    number,
    async release() {
      clearInterval(timer)
      if ((await contentOf(file)) === own) await rm(file, { force: true })
    }
  }
}

async function take(draft: string, file: string): Promise<boolean> {
  if (await isLinked(draft, file)) return true
  const held = await contentOf(file)
  if (held !== null && !(await isAbandoned(file, held))) return false
  // Of several processes that move the abandoned file away, one succeeds.
  const moved = `${file}.${randomUUID()}.old`
  try {
    await rename(file, moved)
  } catch {
    return isLinked(draft, file)
  }
  const removed = await contentOf(moved)
  // Another process may have taken the seat between the check and the move: it gets its file back.
  if (removed !== held && removed !== null) await link(moved, file).catch(() => {})
  await rm(moved, { force: true })
  return removed === held && (await isLinked(draft, file))
}

/** Creates the file with its content at once; false if it exists. */
function isLinked(draft: string, file: string): Promise<boolean> {
  return link(draft, file).then(
    () => true,
    () => false
  )
}

function contentOf(file: string): Promise<string | null> {
  return readFile(file, 'utf8').catch(() => null)
}

async function isAbandoned(file: string, text: string): Promise<boolean> {
  try {
    const presence = presenceOf(JSON.parse(text) as ProcessIdentity)
    if (presence !== 'unknown') return presence === 'dead'
  } catch {
    // Files are complete when they get their name, so this one was damaged.
    return true
  }
  const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: 0 }))
  return Math.abs(Date.now() - mtimeMs) > MAX_AGE_MS
}
