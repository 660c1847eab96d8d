import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NodeName } from '../ledger.ts'
import { Unavailable } from '../ledger.ts'
import type { SvcNode } from '../svc-node.ts'
import type { Load, LoadContext } from './load.ts'
import { pause, repeat, undisturbed } from './load.ts'

const NAME = 'search'
const FILES = 40
/** Time for a changed file to be indexed. */
const MAX_DELAY_MS = 120_000

/** Writes, changes and deletes files while the index follows, and searches. The newest files must be found at the end. */
export function search(context: LoadContext): Load {
  const { ledger, run } = context
  const words: Record<NodeName, Map<number, string>> = { one: new Map(), two: new Map() }
  let next = 0
  const query = (node: SvcNode, text: string): Promise<string> =>
    node.client
      .request(`${node.http}/api/search/query`, { method: 'POST', body: { query: text, corpora: ['document_chunks'] } })
      .then(answer => answer.text)
  const write = (node: SvcNode): void => {
    const slot = next % FILES
    const file = join(node.folder, 'notes', `note-${slot}.md`)
    const word = `zebra${run}x${next}`
    next += 1
    try {
      if (next % 7 === 0) {
        rmSync(file, { force: true })
        words[node.name].delete(slot)
      } else {
        writeFileSync(file, `# Note ${slot}\n\nThe word of this note is ${word}.\n`)
        words[node.name].set(slot, word)
      }
    } catch {
      // The disk is full: the file may be cut off.
      words[node.name].delete(slot)
    }
  }
  return {
    name: NAME,
    run: () =>
      repeat(context, 3_000, (node, count) => {
        if (count % 2 === 0) write(node)
        return ledger.attempt(NAME, node.name, () => query(node, count % 4 === 1 ? 'the word of this note' : 'zebra'))
      }),
    async check() {
      for (const node of context.nodes)
        for (const word of [...words[node.name].values()].slice(-5)) {
          await undisturbed(ledger, node)
          await ledger.attempt(NAME, node.name, async () => {
            const until = Date.now() + MAX_DELAY_MS
            while (!(await query(node, word)).includes(word)) {
              if (Date.now() > until) throw new Unavailable(`the index lacks the word ${word} of a changed file`)
              await pause(1_000)
            }
          })
        }
    }
  }
}
