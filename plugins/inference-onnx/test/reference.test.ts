import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { collect, fixtures, greedy, loadModel, readExpected } from './support/models.ts'

const TOLERANCE = 1e-3

const names = ['qwen2-tiny', 'llama-tiny-bf16', 'vox-tiny'].filter(name =>
  existsSync(join(fixtures, `${name}.expected.json`))
)

for (const runtime of ['native', 'worker'] as const) {
  for (const name of names) {
    for (const variant of ['base', 'adapter'] as const) {
      t.test(`${name}, ${variant}, ${runtime} runtime: logits and greedy text match PyTorch`, async t => {
        const expected = await readExpected(name)
        const prompts = expected.prompts.filter(prompt => prompt.variants[variant] !== undefined)
        if (prompts.length === 0) return t.pass('the fixture has no such variant')
        const model = await loadModel(t, {
          name: expected.runDirectory,
          adapter: variant === 'adapter',
          engine: { runtime }
        })
        for (const { tokens, positions, variants } of prompts) {
          const { offset, greedy: continuation, greedyText } = variants[variant]!
          const logits = await model.logits(tokens)
          t.equal(logits.length, tokens.length)
          let largest = 0
          for (const [row, position] of positions.entries()) {
            const start = offset + row * expected.vocabularySize
            const wanted = expected.logitValues.subarray(start, start + expected.vocabularySize)
            for (const [id, value] of wanted.entries()) {
              largest = Math.max(largest, Math.abs(value - logits[position]![id]!))
            }
          }
          t.ok(largest < TOLERANCE, `largest difference is ${largest}`)
          const generated = await collect(model.generate(greedy(tokens, continuation.length)))
          t.same(generated.tokens, continuation)
          t.equal(model.detokenize(generated.tokens), greedyText)
          t.equal(generated.done.finishReason, 'length')
        }
      })
    }
  }
}
