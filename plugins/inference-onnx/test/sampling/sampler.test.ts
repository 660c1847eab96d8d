import fc from 'fast-check'
import t from 'tap'
import { argmax, largest, logprobs, Sampler, seededRandom, sumOfWeights } from '#sampling'

const logits = (values: readonly number[]) => Float32Array.from(values)
const logitArray = fc.array(fc.float({ noNaN: true, min: -50, max: 50 }), { minLength: 1, maxLength: 300 })

/** Samples `times` tokens, and returns how often each was chosen. */
function draw(options: ConstructorParameters<typeof Sampler>[0], values: readonly number[], times = 4000) {
  const sampler = new Sampler(options, seededRandom(1))
  const counts = new Map<number, number>()
  for (let i = 0; i < times; i++) {
    const token = sampler.sample(logits(values), { history: [] })
    counts.set(token, (counts.get(token) ?? 0) + 1)
  }
  return counts
}

const drawn = (counts: Map<number, number>) => [...counts.keys()].sort((a, b) => a - b)

t.test('temperature 0 selects the largest logit, in a tie the smallest id', async t => {
  const sampler = new Sampler({ temperature: 0 }, () => t.fail('greedy sampling must not use random numbers') as never)
  t.equal(sampler.sample(logits([1, 3, 2]), { history: [] }), 1)
  t.equal(sampler.sample(logits([1, 3, 3]), { history: [] }), 1)
  t.equal(sampler.sample(logits([Number.NaN, 3, Number.POSITIVE_INFINITY]), { history: [] }), 2)
})

t.test('tokens are sampled with their soft-max probability', async t => {
  const counts = draw({ temperature: 1 }, [Math.log(0.5), Math.log(0.3), Math.log(0.2)])
  for (const [token, share] of [0.5, 0.3, 0.2].entries()) {
    t.ok(Math.abs((counts.get(token) ?? 0) / 4000 - share) < 0.03, `token ${token}`)
  }
})

t.test('a lower temperature sharpens, a higher one flattens', async t => {
  const values = [1, 0]
  const share = (temperature: number) => (draw({ temperature }, values).get(0) ?? 0) / 4000
  t.ok(share(0.2) > share(1))
  t.ok(share(1) > share(5))
})

t.test('top-k, top-p and min-p keep the specified tokens', async t => {
  const values = [0.4, 0.3, 0.15, 0.1, 0.05].map(Math.log)
  t.same(drawn(draw({ temperature: 1, topK: 2 }, values)), [0, 1])
  t.same(drawn(draw({ temperature: 1, topK: 0 }, values)), [0, 1, 2, 3, 4])
  t.same(drawn(draw({ temperature: 1, topP: 0.69 }, values)), [0, 1])
  t.same(drawn(draw({ temperature: 1, topP: 0.71 }, values)), [0, 1, 2])
  t.same(drawn(draw({ temperature: 1, topP: 0 }, values)), [0])
  t.same(drawn(draw({ temperature: 1, minP: 0.3 }, values)), [0, 1, 2])
  t.same(drawn(draw({ temperature: 1, minP: 1 }, values)), [0])
  t.same(
    drawn(draw({ temperature: 1, topK: 3, topP: 0.5 }, values)),
    [0, 1],
    'top-p applies to the tokens that top-k kept'
  )
})

t.test('typical-p keeps the tokens whose surprisal is closest to the entropy', async t => {
  // The entropy is 1.39. The surprisals 0.92, 1.20, 1.90, 2.30, 3.00 differ from it by 0.48, 0.19, 0.51, 0.91, 1.60.
  const values = [0.4, 0.3, 0.15, 0.1, 0.05].map(Math.log)
  t.same(drawn(draw({ temperature: 1, typicalP: 0 }, values)), [1])
  t.same(drawn(draw({ temperature: 1, typicalP: 0.29 }, values)), [1])
  t.same(drawn(draw({ temperature: 1, typicalP: 0.31 }, values)), [0, 1])
  t.same(drawn(draw({ temperature: 1, typicalP: 0.71 }, values)), [0, 1, 2])
  t.same(drawn(draw({ temperature: 1, typicalP: 0.86 }, values)), [0, 1, 2, 3])
  t.same(drawn(draw({ temperature: 1, typicalP: 1 }, values)), [0, 1, 2, 3, 4])
  t.same(
    drawn(draw({ temperature: 1, typicalP: 0.8, topP: 0.4 }, values)),
    [0],
    'top-p applies to the tokens that typical-p kept'
  )
  t.same(drawn(draw({ temperature: 1, typicalP: 0.8, minP: 0.5 }, values)), [0, 1], 'min-p applies after typical-p')
  t.same(drawn(draw({ temperature: 1, typicalP: 0.5, topK: 2 }, values)), [0], 'top-k applies before typical-p')
})

t.test('typical-p gives the same result as a full sort by surprisal, for any number of tokens', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(logitArray, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (values, typicalP) => {
        const weights = values.map(value => Math.exp(value - Math.max(...values)))
        const total = weights.reduce((a, b) => a + b)
        const entropy = weights.reduce((sum, weight) => sum - (weight / total) * Math.log(weight / total), 0)
        const distances = weights.map(weight => Math.abs(-Math.log(weight / total) - entropy))
        const token = new Sampler({ temperature: 1, typicalP }, Math.random).sample(logits(values), { history: [] })
        // The tokens that are closer than the chosen one must not reach the probability on their own.
        const closer = weights.filter((_, i) => distances[i]! < distances[token]! - 1e-4).reduce((a, b) => a + b, 0)
        return closer / total < typicalP + 1e-6
      })
    )
  )
})

t.test('never chooses a token whose mask bit is not set', async t => {
  const options = [{ temperature: 0 }, { temperature: 1 }, { topK: 3 }, { topP: 0.5 }, { typicalP: 0.5 }, { minP: 0.1 }]
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(logitArray, fc.constantFrom(...options), fc.nat(), (values, sampling, seed) => {
        const random = seededRandom(seed)
        const mask = new Uint32Array(Math.ceil(values.length / 32))
        const allowed = values.map(() => random() < 0.2)
        allowed[Math.floor(random() * values.length)] = true
        for (const [token, set] of allowed.entries()) if (set) mask[token >> 5]! |= 1 << (token & 31)
        const logitBias = new Map([[0, 100]])
        return (
          allowed[
            new Sampler({ ...sampling, logitBias }, random).sample(logits(values), { history: [], allowed: mask })
          ] === true
        )
      })
    )
  )
  const almostOne = () => 1 - 2 ** -53
  t.equal(
    new Sampler({ temperature: 1 }, almostOne).sample(logits([1, 2, 3]), {
      history: [],
      allowed: Uint32Array.of(0b011)
    }),
    1,
    'with and without rounding'
  )
})

t.test('top-p keeps the smallest set of tokens that reaches the probability, of any size', async t => {
  const values = Array.from({ length: 2000 }, (_, i) => -i / 1000)
  const total = values.reduce((sum, value) => sum + Math.exp(value), 0)
  let expected = 0
  for (let share = 0; share < 0.5; expected++) share += Math.exp(values[expected]!) / total
  const counts = draw({ temperature: 1, topP: 0.5 }, values, 500)
  t.ok(Math.max(...counts.keys()) < expected)
  t.ok(counts.size > 200)
})

t.test('penalises repeated tokens within the window', async t => {
  const greedy = (options: object, history: number[]) =>
    new Sampler({ temperature: 0, ...options }, Math.random).sample(logits([2, 1.9, -1]), { history })
  t.equal(greedy({ repeatPenalty: 1.1 }, [0]), 1)
  t.equal(greedy({ presencePenalty: 0.2 }, [0]), 1)
  t.equal(greedy({ frequencyPenalty: 0.06 }, [0]), 0)
  t.equal(greedy({ frequencyPenalty: 0.06 }, [0, 0]), 1)
  t.equal(greedy({ presencePenalty: 0.2, repeatLastN: 1 }, [0, 2]), 0, 'a token outside the window is not penalised')
  t.equal(greedy({ presencePenalty: 0.2, repeatLastN: 0 }, [0]), 0, 'a window of 0 disables penalties')
  t.equal(greedy({ presencePenalty: 0.2 }, [0, ...Array(64).fill(2)]), 0, 'the default window is 64 tokens')
  t.equal(
    greedy({ presencePenalty: 0.2, repeatLastN: -1 }, [0, ...Array(64).fill(2)]),
    1,
    'a window of -1 is the whole context'
  )
})

t.test('a bias promotes or bans a token', async t => {
  const sampler = (entries: [number, number][]) =>
    new Sampler({ temperature: 0, logitBias: new Map(entries) }, Math.random).sample(logits([2, 1, 0]), { history: [] })
  t.equal(sampler([[2, 5]]), 2)
  t.equal(sampler([[0, Number.NEGATIVE_INFINITY]]), 1)
})

t.test('options beyond the range of float32 choose the most probable allowed token', async t => {
  const values = [1, 5, 2, 9, 3]
  const sample = (options: ConstructorParameters<typeof Sampler>[0], allowed?: Uint32Array) =>
    new Sampler({ temperature: 1, ...options }, seededRandom(1)).sample(logits(values), { history: [2, 2], allowed })
  t.equal(sample({ temperature: Number.MIN_VALUE }), 3)
  t.equal(sample({ repeatPenalty: Number.MIN_VALUE }), 2)
  t.equal(sample({ frequencyPenalty: -1e308 }, Uint32Array.of(0b10110)), 2)
  t.equal(sample({ logitBias: new Map([[4, 1e300]]) }), 4)
})

t.test('equal seeds give equal sequences, different seeds different ones', async t => {
  const sequence = (seed: number) => Array.from({ length: 50 }, seededRandom(seed)).join()
  t.doesNotThrow(() => fc.assert(fc.property(fc.double(), seed => [sequence(seed)].includes(sequence(seed)))))
  t.equal(new Set(Array.from({ length: 200 }, (_, seed) => sequence(seed))).size, 200)
})

t.test('random numbers are in [0, 1) and evenly distributed', async t => {
  const random = seededRandom(42)
  const buckets = new Array(10).fill(0)
  for (let i = 0; i < 20_000; i++) buckets[Math.floor(random() * 10)]++
  for (const count of buckets) t.ok(Math.abs(count - 2000) < 200)
})

t.test('returns the largest logits in the order of a full sort', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(logitArray, fc.nat(400), (values, count) => {
        const array = logits(values)
        const sorted = [...array.keys()].sort((a, b) => array[b]! - array[a]! || a - b).slice(0, count)
        return (
          `${largest(array, count)}` === `${sorted}` &&
          argmax(array) === [...array.keys()].sort((a, b) => array[b]! - array[a]! || a - b)[0]
        )
      })
    )
  )
})

t.test('logprobs are logarithms of a probability distribution, most likely first', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(logitArray, values => {
        const array = logits(values)
        const { top, logprob, token } = logprobs(array, 0, array.length, id => `#${id}`)
        const total = top.reduce((sum, entry) => sum + Math.exp(entry.logprob), 0)
        const own = top.find(entry => entry.token === token)
        return (
          Math.abs(total - 1) < 1e-6 &&
          own?.logprob === logprob &&
          top.every((e, i) => i === 0 || e.logprob <= top[i - 1]!.logprob)
        )
      })
    )
  )
  t.same(logprobs(logits([0, 0]), 1, 0, String), { token: 1, text: '1', logprob: -Math.LN2, top: [] })
})

t.test('weights equal exp of the distance to the best logit', async t => {
  const logits = Float32Array.from({ length: 30_000 }, (_, i) => 20 - i * 0.002)
  for (const temperature of [0.1, 0.7, 1, 5]) {
    const weights = new Float64Array(logits.length)
    const sum = sumOfWeights(logits, 0, temperature, weights)
    const exact = Array.from(logits, logit => Math.exp((logit - 20) / temperature))
    t.ok(weights.every((weight, i) => Math.abs(weight - exact[i]!) <= 1e-10 * exact[i]! + 2 ** -63))
    t.ok(Math.abs(sum / exact.reduce((a, b) => a + b) - 1) < 1e-10)
  }
  const special = Float32Array.of(1, Number.NEGATIVE_INFINITY, Number.NaN, 1)
  t.equal(sumOfWeights(special, 0, 1), 2)
})
