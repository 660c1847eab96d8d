import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { buildSync } from 'esbuild'
import fc from 'fast-check'
import t from 'tap'
import { OutputGate } from '#threads'

const [script] = buildSync({
  entryPoints: [fileURLToPath(new URL('./output-thread.ts', import.meta.url))],
  bundle: true,
  platform: 'node',
  format: 'cjs',
  conditions: ['svc-source'],
  write: false
}).outputFiles

/** Limit of the gate, in lines and in characters, and the largest line of the test. */
const MAX_LINES = 1_000
const MAX_CHARACTERS = 4_096 * MAX_LINES
const MAX_LENGTH = 200_000

t.setTimeout(180_000)

t.test('a thread sends all of its lines, and never has more unread ones than the limit', async t => {
  const lengths = fc.oneof(
    fc.array(fc.integer({ min: 0, max: MAX_LENGTH }), { maxLength: 120 }),
    fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 900, maxLength: 2_500 })
  )
  await fc.assert(
    fc.asyncProperty(lengths, fc.integer({ min: 1, max: 200 }), async (wanted, atOnce) => {
      const load = new Int32Array(new SharedArrayBuffer(4))
      const gate = new OutputGate(load)
      const worker = new Worker(script?.text ?? '', {
        eval: true,
        workerData: { load, lengths: wanted },
        execArgv: []
      })
      const unread: { readonly text: string }[] = []
      const read: number[] = []
      let [characters, mostCharacters, mostLines] = [0, 0, 0]
      worker.on('message', (line: { readonly text: string }) => {
        unread.push(line)
        characters += line.text.length
        mostCharacters = Math.max(mostCharacters, characters)
        mostLines = Math.max(mostLines, unread.length)
      })
      const ended = once(worker, 'exit')
      let isOver = false
      void ended.then(() => {
        isOver = true
      })
      while (!isOver || unread.length > 0) {
        for (const line of unread.splice(0, atOnce)) {
          characters -= line.text.length
          read.push(line.text.length)
          gate.read(line)
        }
        await new Promise(resolve => setImmediate(resolve))
      }
      t.same(read, wanted)
      t.equal(load[0], 0, 'nothing is left to read')
      t.ok(mostLines <= MAX_LINES, `${mostLines} lines`)
      t.ok(mostCharacters <= MAX_CHARACTERS + MAX_LENGTH, `${mostCharacters} characters`)
    }),
    { numRuns: 12 }
  )
})
