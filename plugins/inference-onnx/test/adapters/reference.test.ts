import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { familyDirectory } from '../support/families.ts'
import { collect, fixtures, greedy, loadModel, openEngine, readExpected } from '../support/models.ts'

const TOLERANCE = 1e-3

interface PeftCase {
  readonly name: string
  readonly runDirectory: string
  readonly tokens: readonly number[]
  readonly offset: number
  readonly greedy: readonly number[]
}

const { adapters }: { readonly adapters: readonly PeftCase[] } = JSON.parse(
  await readFile(join(fixtures, 'peft', 'expected.json'), 'utf8')
)
const peftLogits = new Float32Array(new Uint8Array(await readFile(join(fixtures, 'peft', 'logits.bin'))).buffer)

for (const runtime of ['native', 'worker'] as const) {
  for (const name of ['llama-tiny-bf16', 'vox-tiny']) {
    for (const merged of [true, false]) {
      t.test(
        `${name}, loaded ${merged ? 'with' : 'without'} its adapter, ${runtime} runtime: added adapter and base model match PyTorch`,
        async t => {
          const expected = await readExpected(name)
          const model = await loadModel(t, { name: expected.runDirectory, adapter: merged, engine: { runtime } })
          await model.adapters?.add({ name: 'own', directory: join(fixtures, expected.runDirectory) })
          for (const { tokens, positions, variants } of expected.prompts) {
            for (const [variant, adapter] of [
              ['adapter', 'own'],
              ['base', null]
            ] as const) {
              const wanted = variants[variant]
              if (wanted === undefined) continue
              const logits = await model.logits(tokens, { adapter })
              let largest = 0
              for (const [row, position] of positions.entries()) {
                const start = wanted.offset + row * expected.vocabularySize
                const values = expected.logitValues.subarray(start, start + expected.vocabularySize)
                for (const [id, value] of values.entries()) {
                  largest = Math.max(largest, Math.abs(value - logits[position]![id]!))
                }
              }
              t.ok(largest < TOLERANCE, `${variant}: largest difference is ${largest}`)
              const { tokens: generated } = await collect(
                model.generate({ ...greedy(tokens, wanted.greedy.length), adapter })
              )
              t.same(generated, wanted.greedy)
            }
          }
        }
      )
    }
  }
}

for (const { name, runDirectory, tokens, offset, greedy: continuation } of adapters) {
  t.test(`PEFT adapter ${name}: logits and greedy tokens match PEFT`, async t => {
    const folder = runDirectory.startsWith('families/')
      ? await familyDirectory(t, runDirectory.slice('families/'.length))
      : join(fixtures, runDirectory)
    const model = await (await openEngine(t)).load({ runDirectory: folder, adapter: false, maxContext: 64 })
    t.teardown(() => model.close())
    const added = await model.adapters!.add({ name, directory: join(fixtures, 'peft', name) })
    t.match(added, { name, directory: join(fixtures, 'peft', name), rank: Number, alpha: Number })
    const logits = await model.logits(tokens, { adapter: name })
    let largest = 0
    for (const [position, row] of logits.entries()) {
      for (const [id, value] of row.entries()) {
        largest = Math.max(largest, Math.abs(value - peftLogits[offset + position * row.length + id]!))
      }
    }
    t.ok(largest < TOLERANCE, `largest difference is ${largest}`)
    const generated = await collect(model.generate({ ...greedy(tokens, continuation.length), adapter: name }))
    t.same(generated.tokens, continuation)
    const base = await model.logits(tokens)
    t.ok(
      base.some((row, i) => row.some((value, id) => Math.abs(value - logits[i]![id]!) > 0.1)),
      'the adapter has an effect'
    )
  })
}
