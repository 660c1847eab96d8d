// Writes the results of llama.cpp for GGUF files: greedy tokens, and the log probabilities after the prompt.
//
// Usage: node run-llama.mjs PEERS FILES OUT
// PEERS: a folder in which node-llama-cpp is installed. FILES: a folder that make-gguf.py wrote with `--f32`, since
// llama.cpp rounds activations to the type of the weights. OUT: the JSON file, fixtures/gguf/llama.json.
import { readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const GREEDY_TOKENS = 16
const prompt = Array.from({ length: 40 }, (_, index) => ((index * 37 + 11) % 297) + 3)

const [peers, files, out] = process.argv.slice(2).map(path => resolve(path))
const entry = createRequire(join(peers, 'package.json')).resolve('node-llama-cpp')
const { getLlama } = await import(pathToFileURL(entry).href)
const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'error', maxThreads: 1 })
const results = {}
for (const file of readdirSync(files)
  .filter(name => name.endsWith('.gguf'))
  .sort()) {
  const model = await llama.loadModel({ modelPath: join(files, file), useMmap: false })
  const context = await model.createContext({ contextSize: 128, batchSize: 128, threads: 1, flashAttention: false })
  const options = { temperature: 0, yieldEogToken: true }
  const greedy = []
  let logprobs
  for await (const event of context.getSequence().evaluateWithMetadata(prompt, { probabilities: true }, options)) {
    logprobs ??= [...event.probabilities]
      .sort(([a], [b]) => a - b)
      .map(([, probability]) => Number(Math.log(probability).toFixed(4)))
    greedy.push(event.token)
    if (greedy.length === GREEDY_TOKENS) break
  }
  results[basename(file, '.gguf')] = { tokens: prompt, greedy, logprobs }
  await context.dispose()
  await model.dispose()
}
writeFileSync(out, `${JSON.stringify(results)}\n`)
process.exit(0)
