import { createHash, randomBytes } from 'node:crypto'
import type { NodeName } from '../ledger.ts'
import type { SvcNode } from '../svc-node.ts'
import type { Load, LoadContext } from './load.ts'
import { repeat, undisturbed } from './load.ts'

const NOTES = 'rows of the program'
const UPLOADS = 'uploads'
const UPLOAD_BYTES = 16_384

interface Note {
  readonly _id: number
  readonly key: string
}

/** Keys of acknowledged rows, and the newest one with its time, which live queries must show. */
export interface Acknowledged {
  readonly notes: Record<NodeName, Set<string>>
  readonly newest: Record<NodeName, { key: string; time: number }>
}

export function acknowledged(): Acknowledged {
  return {
    notes: { one: new Set(), two: new Set() },
    newest: { one: { key: '', time: 0 }, two: { key: '', time: 0 } }
  }
}

/** Inserts rows into the table of the program. Each acknowledged row must be there at the end, once. */
export function notes(context: LoadContext, acks: Acknowledged): Load {
  const { ledger, run } = context
  let next = 0
  return {
    name: NOTES,
    run: () =>
      repeat(context, 600, node =>
        ledger.attempt(NOTES, node.name, async () => {
          const key = `${run}-note-${next++}`
          const body = { key, text: 'a note of the soak '.repeat(5) }
          await node.client.request(`${node.app}/api/mutation/add_note`, { method: 'POST', body })
          acks.notes[node.name].add(key)
          acks.newest[node.name] = { key, time: Date.now() }
        })
      ),
    async check() {
      for (const node of context.nodes) {
        const stored = await allNotes(node)
        for (const key of acks.notes[node.name])
          if (!stored.has(key)) ledger.violate(NOTES, node.name, `the acknowledged row ${key} is lost`)
      }
    }
  }
}

async function allNotes(node: SvcNode): Promise<Set<string>> {
  const keys = new Set<string>()
  for (let id = 0; ; ) {
    const page: Note[] = await node.client.json(`${node.app}/api/query/notes_after?id=${id}`)
    if (page.length === 0) return keys
    for (const note of page) keys.add(note.key)
    id = page.at(-1)!._id
  }
}

/** Uploads files, and reads earlier ones. Each acknowledged file must have its bytes at the end. */
export function uploads(context: LoadContext): Load {
  const { ledger, run } = context
  const hashes: Record<NodeName, Map<string, string>> = { one: new Map(), two: new Map() }
  let next = 0
  const verify = async (node: SvcNode, key: string): Promise<void> => {
    const path = await node.client.json(
      `${node.app}/api/query/attachment?key=${encodeURIComponent(JSON.stringify(key))}`
    )
    if (path === null) throw new Error(`the acknowledged file ${key} is lost`)
    const { text } = await node.client.request(`${node.app}${path}`)
    if (hashOf(text) !== hashes[node.name].get(key)) throw new Error(`the file ${key} has other bytes`)
  }
  return {
    name: UPLOADS,
    run: () =>
      repeat(context, 4_000, async (node, count) => {
        const keys = [...hashes[node.name].keys()]
        const old = keys[Math.floor(Math.random() * keys.length)]
        if (count % 2 === 1 && old !== undefined) return ledger.attempt('downloads', node.name, () => verify(node, old))
        return ledger.attempt(UPLOADS, node.name, async () => {
          const key = `${run}-file-${next++}`
          // Text, so that a client that decodes it keeps the bytes.
          const content = randomBytes(UPLOAD_BYTES / 2).toString('hex')
          const { body, type } = formOf(key, content)
          const headers = { 'content-type': type }
          await node.client.request(`${node.app}/api/mutation/attach`, { method: 'POST', body, headers })
          hashes[node.name].set(key, hashOf(content))
        })
      }),
    async check() {
      for (const node of context.nodes)
        for (const key of hashes[node.name].keys()) {
          await undisturbed(ledger, node)
          await ledger.attempt('downloads', node.name, () => verify(node, key))
        }
    }
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function formOf(key: string, content: string): { readonly body: Buffer; readonly type: string } {
  const boundary = `soak-${randomBytes(8).toString('hex')}`
  const body = [
    `--${boundary}\r\ncontent-disposition: form-data; name="key"\r\n\r\n${key}\r\n`,
    `--${boundary}\r\ncontent-disposition: form-data; name="content"; filename="${key}.txt"\r\n`,
    `content-type: text/plain\r\n\r\n${content}\r\n--${boundary}--\r\n`
  ]
  return { body: Buffer.from(body.join('')), type: `multipart/form-data; boundary=${boundary}` }
}
