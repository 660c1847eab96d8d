import fc from 'fast-check'
import t from 'tap'
import {
  type Attempts,
  bestProvider,
  bootstrapModels,
  type ChoiceInput,
  categoryOf,
  choose,
  componentsOf,
  DEFAULT_WEIGHTS,
  FenceFilter,
  fallback,
  HOSTED_NAMES,
  type ModelEntry,
  nameOf,
  parseWeights,
  problemWith,
  Standings,
  scoreOf,
  toEntry,
  weightsFor
} from '#root'

const needs = {
  json: false,
  tools: false,
  vision: false,
  imageUrls: false,
  grammar: false,
  promptTokens: 10,
  contextTokens: 1_000
}
const FREE = toEntry({
  providerType: 'open_router',
  id: 'example/small:free',
  costPer1k: 0,
  pricingSource: 'open_router',
  strengths: ['logic']
})
const free = { remaining: null, isRateLimited: false, retryAfterMs: null }
const score = { weights: DEFAULT_WEIGHTS, promptTokens: 10, isMobile: false, fillsGap: false }

function input(over: Partial<ChoiceInput> = {}): ChoiceInput {
  return {
    models: bootstrapModels('toy'),
    premium: {},
    requested: null,
    selected: null,
    previous: null,
    needs,
    category: 'general',
    isLatencyCritical: false,
    freeOnly: false,
    local: { isAllowed: false, isReady: false, model: 'toy', offered: [] },
    hasKey: () => true,
    isAllowed: () => true,
    standingOf: () => free,
    score,
    preferred: undefined,
    gemini: { policy: 'openrouter_first', openrouter: 'google/gemini-2.5-flash', google: 'gemini-2.5-flash' },
    ...over
  }
}

const local = { isAllowed: true, isReady: true, model: 'toy', offered: ['toy:latest', 'big'] }
const nameFor = (over: Partial<ChoiceInput>): string => nameOf(choose(input(over)).entry)

t.test('provider_auto is the automatic model of OpenRouter; without its key, the best score', t => {
  t.match(choose(input()), { entry: { id: 'openrouter/auto' }, rule: 'provider_auto', warning: null })
  const rule = choose(input({ hasKey: name => name !== 'openrouter' })).rule
  t.equal(rule, 'score')
  t.end()
})

t.test('preferred_model is used, and its absence is a warning with the automatic model', t => {
  t.equal(nameFor({ preferred: 'claude-opus-4-5' }), 'anthropic/claude-opus-4-5')
  t.match(choose(input({ preferred: null })), { rule: 'provider_auto', warning: /no model is preferred/ })
  t.match(choose(input({ preferred: 'none' })), { rule: 'provider_auto', warning: /"none" is not usable/ })
  t.end()
})

t.test('order: request, selection, premium, session, local server, automatic choice', t => {
  const all = {
    selected: 'groq/openai/gpt-oss-20b',
    premium: { general: 'openai/gpt-4.1' },
    previous: 'mistral/codestral-latest',
    local
  }
  t.match(choose(input({ ...all, requested: 'cerebras/gpt-oss-120b' })), {
    entry: { provider: 'cerebras' },
    rule: 'requested'
  })
  t.match(choose(input(all)), { entry: { provider: 'groq' }, rule: 'selected' })
  t.match(choose(input({ ...all, selected: null })), { entry: { provider: 'openai' }, rule: 'premium' })
  t.match(choose(input({ ...all, selected: null, premium: {} })), { entry: { provider: 'mistral' }, rule: 'session' })
  t.match(choose(input({ local })), { entry: { id: 'toy' }, rule: 'local' })
  t.match(choose(input({ requested: 'big', local })), { entry: { id: 'big', provider: 'ollama' }, rule: 'requested' })
  t.end()
})

t.test('a latency-critical request gets a free model', t => {
  t.match(choose(input({ models: [...bootstrapModels('toy'), FREE], isLatencyCritical: true })), {
    entry: { isFree: true },
    rule: 'latency_critical_free'
  })
  t.end()
})

t.test('the policy for Gemini changes only automatic choices of Gemini models', t => {
  const google = bootstrapModels('toy').filter(({ provider }) => provider === 'google')
  const router = bootstrapModels('toy').filter(({ id }) => id === 'google/gemini-2.5-flash')
  const models = [...google, ...router]
  const gemini = input().gemini
  const chosen = (policy: typeof gemini.policy, over: Partial<ChoiceInput> = {}) =>
    nameFor({ models, gemini: { ...gemini, policy }, category: 'parsing', ...over })
  t.equal(chosen('openrouter_first'), 'openrouter/google/gemini-2.5-flash')
  t.equal(chosen('openrouter_first', { hasKey: name => name === 'google' }), 'google/gemini-2.5-flash-lite')
  t.equal(chosen('google_direct_only'), 'google/gemini-2.5-flash')
  t.equal(chosen('registry_default'), 'google/gemini-2.5-flash-lite')
  t.equal(
    chosen('google_direct_only', { requested: 'openrouter/google/gemini-2.5-flash' }),
    'openrouter/google/gemini-2.5-flash'
  )
  t.end()
})

t.test('whether a model is usable does not depend on the number of models', t => {
  const models = new Proxy([] as ModelEntry[], {
    get: (_, field) => {
      throw new Error(`the other models are read: ${String(field)}`)
    }
  })
  const given = input({ models, hasKey: name => name === 'groq' })
  t.equal(problemWith(toEntry({ providerType: 'groq', id: 'm' }), given), null)
  t.match(problemWith(toEntry({ providerType: 'mistral', id: 'm' }), given), { code: 'ICL_UNAUTHORIZED' })
  t.match(problemWith(toEntry({ providerType: 'groq', id: 'm' }), { ...given, needs: { ...needs, vision: true } }), {
    code: 'ICL_REFUSED'
  })
  t.end()
})

t.test('capabilities, budget and allowed providers exclude models', t => {
  const grammar = { ...needs, grammar: true }
  t.throws(() => choose(input({ needs: grammar })), { code: 'ICL_REFUSED', message: /does not support grammars/ })
  t.equal(nameFor({ needs: grammar, local }), 'toy')
  const capabilities = { supportsNativeTools: false, maxContext: 128_000 }
  const models = [...bootstrapModels('toy'), toEntry({ providerType: 'deep_seek', id: 'without-tools', capabilities })]
  const requested = 'deepseek/without-tools'
  t.throws(() => choose(input({ models, requested, needs: { ...needs, tools: true } })), {
    code: 'ICL_REFUSED',
    message: /tools/
  })
  t.throws(() => choose(input({ models, requested, needs: { ...needs, promptTokens: 200_000 } })), {
    code: 'ICL_REFUSED',
    message: /context/
  })
  t.throws(() => choose(input({ models, requested, isAllowed: name => name === 'groq' })), {
    code: 'ICL_REFUSED',
    message: /allowed/
  })
  t.throws(() => choose(input({ models, requested, freeOnly: true })), { code: 'ICL_REFUSED', message: /not free/ })
  t.ok(choose(input({ models: [...models, FREE], freeOnly: true })).entry.isFree)
  t.end()
})

t.test('nothing left: the error names the keys to set, or the exhausted providers', t => {
  const error = t.throws(() => choose(input({ hasKey: () => false })), { code: 'ICL_UNREACHABLE' }) as { hint?: string }
  for (const variable of ['OPENROUTER_API_KEY', 'GROQ_API_KEY', 'ANTHROPIC_API_KEY']) t.match(error.hint, variable)
  const limited = { ...free, isRateLimited: true, retryAfterMs: 4_000 }
  t.throws(() => choose(input({ standingOf: () => limited })), {
    code: 'ICL_BUSY',
    message: /all providers exhausted or unavailable/,
    data: { retryAfterMs: 4_000 }
  })
  t.end()
})

t.test('fallbacks: no model is tried twice, and they end', t => {
  const models = bootstrapModels('toy')
  fc.assert(
    fc.property(
      fc.constantFrom(...models),
      fc.boolean(),
      fc.subarray(HOSTED_NAMES),
      fc.constantFrom('openrouter_first' as const, 'google_direct_only' as const, 'registry_default' as const),
      (first, isReachable, keys, policy) => {
        const given = input({
          local: isReachable ? local : { ...local, isReady: false, offered: [] },
          hasKey: name => keys.includes(name),
          gemini: { ...input().gemini, policy }
        })
        const attempts: Attempts = { tried: new Set([nameOf(first)]), routes: new Set() }
        let failed = first
        for (let count = 0; ; count += 1) {
          const next = fallback(failed, attempts, given)
          if (next === null) return
          t.ok(count < 3)
          if (attempts.tried.has(nameOf(next))) throw new Error(`${nameOf(next)} was tried before`)
          if (next.provider !== 'ollama' && !keys.includes(next.provider)) throw new Error('a provider without a key')
          attempts.tried.add(nameOf(next))
          failed = next
        }
      }
    ),
    { numRuns: 100 }
  )
  t.end()
})

t.test('a choice has a key, is allowed and is not marked, whatever the circumstances', t => {
  const models = bootstrapModels('toy')
  fc.assert(
    fc.property(
      fc.subarray(HOSTED_NAMES),
      fc.subarray(models.map(nameOf)),
      fc.boolean(),
      fc.boolean(),
      fc.option(fc.constantFrom(...models.map(nameOf))),
      (keys, marked, isReachable, freeOnly, previous) => {
        const given = input({
          hasKey: name => keys.includes(name),
          standingOf: entry => ({ ...free, isRateLimited: marked.includes(nameOf(entry)) }),
          local: isReachable ? local : { ...local, isReady: false, offered: [] },
          freeOnly,
          previous
        })
        try {
          const { entry, rule } = choose(given)
          if (rule === 'local') return
          if (entry.provider !== 'ollama' && !keys.includes(entry.provider)) throw new TypeError('no key')
          if (marked.includes(nameOf(entry))) throw new TypeError('marked')
          if (freeOnly && !entry.isFree) throw new TypeError('not free')
        } catch (error) {
          if (error instanceof TypeError) throw error
        }
      }
    ),
    { numRuns: 200 }
  )
  t.end()
})

t.test('weights: defaults, aliases, ranges; invalid parts are ignored', t => {
  t.same(parseWeights(''), DEFAULT_WEIGHTS)
  t.same(parseWeights('cost=1, quality = 2,SPEED=255,balance=256,mobile=-1,foo=3,availability=x'), {
    ...DEFAULT_WEIGHTS,
    efficiency: 1,
    precision: 2,
    latency: 255
  })
  fc.assert(
    fc.property(fc.string(), text => {
      for (const weight of Object.values(parseWeights(text))) if (!(weight >= 0 && weight <= 255)) return false
      return true
    })
  )
  const weigh = (complexity: number, costPreference: 'performance' | 'economy' | null) =>
    weightsFor(DEFAULT_WEIGHTS, { complexity, costPreference })
  t.match(weigh(8, 'performance'), { precision: 52, efficiency: 25, latency: 20 })
  t.match(weigh(3, 'economy'), { precision: 30, efficiency: 50, latency: 25 })
  t.same(weigh(5, null), DEFAULT_WEIGHTS)
  t.end()
})

t.test('components of the score follow the documented formulas', t => {
  const entry = toEntry({
    id: 'm',
    providerType: 'groq',
    costPer1kInput: 0.01,
    costPer1kOutput: 0.03,
    pricingSource: 'user_config',
    maxTokens: 10_000,
    capabilities: { maxContext: 1_000, rateLimitRpm: 100, latencyP50Ms: 4_250, uptimeScore: 1 }
  })
  const parts = componentsOf(entry, { ...free, remaining: 100 }, { ...score, promptTokens: 250, strength: 'logic' })
  const near = (value: number, wanted: number) => t.ok(Math.abs(value - wanted) < 1e-9, `${value} is ${wanted}`)
  near(parts.efficiency, 1 / 3)
  near(parts.precision, (0.6 * 4) / 7 + 0.4 * 0.95)
  near(parts.latency, 0.6 * 0.5 + 0.25 * 0.5 + 0.15)
  near(parts.availability, 2 / 3)
  near(parts.balance, 0.75)
  near(parts.mobile, 0.7)
  const limited = scoreOf(entry, { ...free, isRateLimited: true }, { ...score, strength: 'logic' })
  t.ok(limited < -9_000)
  t.end()
})

t.test('the provider with the most calls left is the best one', t => {
  const rows = [{ provider: 'groq', model: 'm', calls: 7, cool_down_until: null }] as any
  const standings = new Standings(
    rows,
    new Map([
      ['groq/*', 10],
      ['mistral/*', 5]
    ]),
    0
  )
  const keys = ['groq', 'mistral']
  t.equal(
    bestProvider(standings, name => keys.includes(name), true),
    'mistral'
  )
  t.equal(
    bestProvider(standings, () => false, true),
    'ollama'
  )
  t.equal(
    bestProvider(standings, () => false, false),
    null
  )
  const marked = [{ provider: 'mistral', model: 'm', calls: 0, cool_down_until: 5 }] as any
  t.equal(
    bestProvider(new Standings(marked, new Map([['mistral/*', 5]]), 0), name => name === 'mistral', true),
    'ollama'
  )
  t.end()
})

t.test('names of categories in any notation', t => {
  for (const [name, category] of [
    ['CodeGen', 'codegen'],
    ['inter-agent', 'inter_agent'],
    ['TypeChecking', 'type_checking'],
    ['Tool Orchestration', 'tool_orchestration'],
    ['unheard of', 'general'],
    [undefined, 'general']
  ] as const) {
    t.equal(categoryOf(name), category)
  }
  t.end()
})

t.test('fences around JSON are removed, however the text is cut; other text is unchanged', t => {
  const through = (text: string, cuts: readonly number[]): string => {
    const filter = new FenceFilter()
    let out = ''
    let from = 0
    for (const cut of [...cuts].sort((a, b) => a - b)) {
      out += filter.push(text.slice(from, cut))
      from = cut
    }
    return out + filter.push(text.slice(from)) + filter.end()
  }
  const cuts = fc.array(fc.nat(60), { maxLength: 8 })
  fc.assert(
    fc.property(fc.json(), cuts, (json, at) => through(`\`\`\`json\n${json}\n\`\`\`\n`, at) === json.trimEnd()),
    { numRuns: 200 }
  )
  fc.assert(
    fc.property(fc.string(), cuts, (text, at) => text.trimStart().startsWith('```') || through(text, at) === text),
    { numRuns: 200 }
  )
  t.end()
})
