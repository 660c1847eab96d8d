import type { Quantization } from '@svc/contracts'
import { OnnxEngine } from '#root'

/** Program that loads a run directory with a cache, and prints the first tokens and whether it packed weights. */
const [runDirectory = '', cacheDirectory = '', quantization = 'none'] = process.argv.slice(2)
let packed = false
const model = await new OnnxEngine({ cacheDirectory, threads: 1 }).load({
  runDirectory,
  quantization: quantization as Quantization,
  onProgress: (_, step) => {
    packed ||= step === 'quantising the weights'
  }
})
const tokens: number[] = []
const request = { tokens: [9, 8], maxTokens: 6, ignoreEos: true, sampling: { temperature: 0 } }
for await (const event of model.generate(request)) if (event.type === 'text') tokens.push(...event.tokens)
await model.close()
process.stdout.write(JSON.stringify({ tokens, packed }))
