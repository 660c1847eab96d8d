import { join } from 'node:path'
import { inferenceEngineSuite } from '@svc/contracts/conformance'
import t from 'tap'
import { OnnxEngine } from '#root'
import { fixtures, temporaryFolder } from './support/models.ts'

const engine = new OnnxEngine({ cacheDirectory: await temporaryFolder(t), threads: 1 })
t.teardown(() => engine.close())

for (const name of ['llama-tiny-bf16', 'qwen2-tiny']) {
  const suite = inferenceEngineSuite({
    engine,
    runDirectory: join(fixtures, name),
    prompt: 'a retry with a limit',
    texts: ['a retry', 'naïve 日本 🚀', 'two\n\nlines\t.']
  })
  for (const { name: claim, run } of suite) t.test(`${name}: ${claim}`, run)
}
