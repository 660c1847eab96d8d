import t, { type Test } from 'tap'
import { openRuntime, ownRequire } from '#ort'
import { CandidateSession, type Candidates, largest, logprobs, Sampler, seededRandom } from '#sampling'
import { familyDirectory } from '../support/families.ts'
import { collect, loadModel } from '../support/models.ts'

const VOCABULARY = 8192
/** Number of draws in a sweep over all random numbers. */
const DRAWS = 100

/** Normally distributed logits. */
function logitsOf(deviation: number, seed: number): Float32Array {
  const random = seededRandom(seed)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return Float32Array.from({ length: VOCABULARY }, () => deviation * normal())
}

/** Opens a session; the returned function computes the candidates of rows of logits. */
async function openCandidates(t: Test) {
  const runtime = openRuntime('native', ownRequire(), () => {})
  const logits = runtime.host('float32', [3, VOCABULARY])
  const session = await CandidateSession.open({ runtime, logits, threads: 1 })
  t.teardown(async () => {
    await session?.close()
    logits.release()
  })
  return async (rows: readonly Float32Array[], temperature: number): Promise<Candidates[]> => {
    for (const [row, values] of rows.entries()) logits.data.set(values, row * VOCABULARY)
    return (await session?.run(rows.map(() => temperature))) as Candidates[]
  }
}

t.test('candidates are the largest logits, with the probabilities at the temperature of their row', async t => {
  const candidatesOf = await openCandidates(t)
  const rows = [logitsOf(3, 1), logitsOf(0, 2), logitsOf(20, 3)]
  for (const temperature of [0.7, 1.3])
    for (const [row, { tokens, probabilities, logSum }] of (await candidatesOf(rows, temperature)).entries()) {
      const logits = rows[row]!
      t.same(tokens, largest(logits, 256))
      const highest = logits[tokens[0]!]!
      const sum = (scale: number) => logits.reduce((total, logit) => total + Math.exp((logit - highest) / scale), 0)
      t.ok(Math.abs(logSum - highest - Math.log(sum(1))) < 1e-4)
      for (const token of [tokens[0]!, tokens[255]!, 17]) {
        const exact = Math.exp((logits[token]! - highest) / temperature) / sum(temperature)
        t.ok(Math.abs(probabilities[token]! - exact) <= 1e-4 * exact + 1e-30)
      }
      t.same(
        logprobs(logits, 17, 0, String, { tokens, logSum }).logprob.toFixed(3),
        logprobs(logits, 17, 0, String).logprob.toFixed(3)
      )
    }
})

t.test('a small vocabulary has no session, since JavaScript is faster', async t => {
  const runtime = openRuntime('native', ownRequire(), () => {})
  const logits = runtime.host('float32', [1, 300])
  t.equal(await CandidateSession.open({ runtime, logits, threads: 1 }), null)
  logits.release()
})

const history = Array.from({ length: 40 }, (_, i) => i * 50)
const bias = new Map([
  [5, 4],
  [6, -100],
  [7, 30]
])
const cases = [
  { temperature: 0.7 },
  { temperature: 1.3 },
  { temperature: 1, topK: 40 },
  { temperature: 1, topK: 1000 },
  { temperature: 1, topP: 0 },
  { temperature: 1, topP: 0.3 },
  { temperature: 1.3, topP: 0.95 },
  { temperature: 1, topK: 50, topP: 0.9 },
  { temperature: 1, minP: 0.05 },
  { temperature: 2, minP: 0.0001 },
  { temperature: 1, typicalP: 0.5 },
  { temperature: 1, topK: 500, typicalP: 0.5, topP: 0.8 },
  { temperature: 1, repeatPenalty: 1.3 },
  { temperature: 0.9, presencePenalty: 1, frequencyPenalty: 0.5, topP: 0.9 },
  { temperature: 1, logitBias: bias },
  { temperature: 0.05, logitBias: bias, topK: 20 },
  { temperature: 0, repeatPenalty: 1.5 },
  { temperature: 0, logitBias: bias }
]

t.test('each option gives the same distribution with candidates as from all logits', async t => {
  const candidatesOf = await openCandidates(t)
  const mask = new Uint32Array(Math.ceil(VOCABULARY / 32))
  for (let token = 3; token < VOCABULARY; token += 7) mask[token >> 5]! |= 1 << (token & 31)
  const narrow = new Uint32Array(mask.length)
  narrow[100] = 0b1010
  for (const [name, deviation] of [
    ['flat', 0.5],
    ['usual', 3],
    ['peaked', 30]
  ] as const) {
    const logits = logitsOf(deviation, deviation)
    for (const allowed of [undefined, mask, narrow])
      for (const options of cases) {
        const [candidates] = await candidatesOf([logits], options.temperature)
        const counts = new Map<number, number>()
        const expected = new Map<number, number>()
        for (let draw = 0; draw < DRAWS; draw++) {
          const sampler = new Sampler(options, () => (draw + 0.5) / DRAWS)
          const fresh = { ...candidates!, probabilities: candidates!.probabilities.slice() }
          const token = sampler.sample(logits.slice(), { history, allowed, candidates: fresh })
          const reference = sampler.sample(logits.slice(), { history, allowed })
          counts.set(token, (counts.get(token) ?? 0) + 1)
          expected.set(reference, (expected.get(reference) ?? 0) + 1)
        }
        // Both sweep the same distribution, in another order of its tokens.
        const wrong = [...new Set([...counts.keys(), ...expected.keys()])].filter(
          token => Math.abs((counts.get(token) ?? 0) - (expected.get(token) ?? 0)) > 1
        )
        t.same(wrong, [], `${name} ${JSON.stringify(options)} ${allowed === undefined ? 'all' : 'masked'}`)
      }
  }
})

t.test('without a token that is nearly certain, the others keep their distribution', async t => {
  const candidatesOf = await openCandidates(t)
  for (const certain of [11, 12, 13]) {
    const logits = logitsOf(1, 4)
    // The others have about 8192 * exp(0.5) * exp(-13 - certain) of the probability: 7e-8 to 5e-7.
    logits[6] = 13 + certain
    const logitBias = new Map([[6, -100]])
    for (const options of [
      { temperature: 1, logitBias },
      { temperature: 1, logitBias, topP: 0.9 }
    ]) {
      const [candidates] = await candidatesOf([logits], 1)
      const rare = [0, 0]
      const ranked = new Set(candidates!.tokens)
      for (let draw = 0; draw < DRAWS; draw++) {
        const sampler = new Sampler(options, () => (draw + 0.5) / DRAWS)
        const fresh = { ...candidates!, probabilities: candidates!.probabilities.slice() }
        for (const [side, each] of [fresh, null].entries()) {
          const token = sampler.sample(logits.slice(), { history: [], candidates: each })
          if (!ranked.has(token)) rare[side]!++
        }
      }
      t.ok(rare[1]! > DRAWS / 2 && Math.abs(rare[0]! - rare[1]!) <= 1, `${certain}: ${rare} of ${DRAWS} draws`)
    }
  }
})

t.test('a model with a large vocabulary samples the same tokens in one slot, in a batch, and ahead', async t => {
  const runDirectory = await familyDirectory(t, 'qwen3', { vocabulary: 8448 })
  const model = await loadModel(t, { runDirectory, slots: 3, engine: { speculation: 4 } })
  const single = await loadModel(t, { runDirectory, slots: 1, engine: { speculation: 0 } })
  const prompt = (first: number) => Array.from({ length: 20 }, (_, i) => first + (i % 5))
  const samplings = [{ temperature: 1, seed: 1 }, { temperature: 0.5, topP: 0.9, seed: 2 }, { temperature: 0 }]
  const requests = samplings.map((sampling, i) => ({
    tokens: prompt(10 * (i + 1)),
    maxTokens: 24,
    ignoreEos: true,
    sampling,
    logprobs: 3
  }))
  const together = await Promise.all(requests.map(request => collect(model.generate(request))))
  for (const [i, request] of requests.entries()) {
    t.equal(together[i]?.tokens.length, 24)
    t.same((await collect(model.generate(request))).tokens, together[i]?.tokens)
    t.same((await collect(single.generate(request))).tokens, together[i]?.tokens)
  }
})
