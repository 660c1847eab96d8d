/**
 * Time to choose a token from 151,936 logits, like Qwen's: on the event loop with candidates of ONNX Runtime, in all
 * with their computation, and from only the logits. Flat logits (normally distributed, deviation 3) are the worst
 * case: nuclei hold thousands of tokens.
 *
 *   node --import tsx --conditions=svc-source bench/sampling.ts [--json] [--smoke]
 */
import { parseArgs } from 'node:util'
import { openRuntime, ownRequire } from '../plugins/inference-onnx/src/ort/index.ts'
import { CandidateSession, Sampler, seededRandom } from '../plugins/inference-onnx/src/sampling/index.ts'

const VOCABULARY = 151_936
const { values } = parseArgs({ options: { json: { type: 'boolean' }, smoke: { type: 'boolean' } } })
const ROUNDS = values.smoke === true ? 3 : 200
const random = seededRandom(1)
const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
const allowed = Uint32Array.from({ length: Math.ceil(VOCABULARY / 32) }, () => 0xf0f0f0f0)
const history = Array.from({ length: 64 }, (_, i) => i * 100)

const settings = {
  'temperature 0.7': { temperature: 0.7 },
  'temperature 1.3': { temperature: 1.3 },
  'top_k 40': { temperature: 1, topK: 40 },
  'top_k 20,000': { temperature: 1, topK: 20_000 },
  'top_p 0.9 at 0.7': { temperature: 0.7, topP: 0.9 },
  'top_p 0.9 at 1': { temperature: 1, topP: 0.9 },
  'top_p 0.95 at 1.3': { temperature: 1.3, topP: 0.95 },
  'min_p 0.05': { temperature: 1, minP: 0.05 },
  'typical_p 0.9': { temperature: 1, typicalP: 0.9 },
  'penalties and top_p 0.95 at 1.3': { temperature: 1.3, topP: 0.95, repeatPenalty: 1.1 }
}

const runtime = openRuntime('native', ownRequire(), () => {})
const logits = runtime.host('float32', [1, VOCABULARY])
const session = await CandidateSession.open({ runtime, logits, threads: 2 })
if (session === null) throw new Error('the vocabulary is too small for candidates')
const source = Float32Array.from({ length: VOCABULARY }, () => 3 * normal())

/** Returns the median of a list of times in milliseconds. */
function median(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] as number
}

const results: Record<string, { loopMs: number; withCandidatesMs: number; logitsAloneMs: number }> = {}
for (const masked of [false, true])
  for (const [name, options] of Object.entries(settings)) {
    const times = { loop: [] as number[], all: [] as number[], alone: [] as number[] }
    const sampler = new Sampler(options, random)
    const context = { history, ...(masked ? { allowed } : {}) }
    for (let round = 0; round < ROUNDS; round++) {
      logits.data.set(source)
      const start = performance.now()
      const [candidates = null] = await session.run([options.temperature])
      const computed = performance.now()
      sampler.sample(logits.data, { ...context, candidates })
      const end = performance.now()
      times.loop.push(end - computed)
      times.all.push(end - start)
      logits.data.set(source)
      const alone = performance.now()
      sampler.sample(logits.data, context)
      times.alone.push(performance.now() - alone)
    }
    results[`${name}${masked ? ', masked' : ''}`] = {
      loopMs: median(times.loop),
      withCandidatesMs: median(times.all),
      logitsAloneMs: median(times.alone)
    }
  }
if (values.json === true) console.log(JSON.stringify(results))
else
  for (const [name, { loopMs, withCandidatesMs, logitsAloneMs }] of Object.entries(results))
    console.log(
      `${name.padEnd(42)} ${loopMs.toFixed(2)} ms on the event loop, ${withCandidatesMs.toFixed(2)} ms in all, ` +
        `${logitsAloneMs.toFixed(2)} ms without candidates`
    )
await session.close()
