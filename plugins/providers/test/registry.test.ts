import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import {
  bootstrapModels,
  CATEGORIES,
  defaultLimits,
  HOSTED_NAMES,
  limitOf,
  nameOf,
  PRICE_PAGES,
  parseModels,
  readLimits
} from '#root'
import { openWorld } from './open-providers.ts'

t.test('built-in models: unique names, each provider but custom, each strength of a category', t => {
  const models = bootstrapModels('toy')
  t.equal(new Set(models.map(nameOf)).size, models.length)
  for (const name of HOSTED_NAMES.filter(name => name !== 'custom'))
    t.ok(
      models.some(({ provider }) => provider === name),
      name
    )
  for (const { strength } of Object.values(CATEGORIES))
    t.ok(
      models.some(({ strengths }) => strengths.includes(strength)),
      strength
    )
  t.match(models[0], { id: 'toy', provider: 'ollama', isFree: true, capabilities: { tier: 'local' } })
  t.end()
})

t.test('built-in prices name their page and their day; other built-in models have no price', t => {
  const OLDEST = '2026-01-01'
  const pages: readonly string[] = Object.values(PRICE_PAGES)
  for (const entry of bootstrapModels('toy')) {
    const { pricingSource, priceAsOf, priceSource, costPer1kInput, costPer1kOutput } = entry
    if (entry.provider === 'ollama' || pricingSource === 'unknown') {
      t.same([priceAsOf, priceSource, costPer1kInput, costPer1kOutput], [null, null, 0, 0], nameOf(entry))
      continue
    }
    t.equal(pricingSource, 'bootstrap', nameOf(entry))
    t.ok(pages.includes(priceSource ?? ''), nameOf(entry))
    t.ok(costPer1kInput > 0 && costPer1kOutput > 0, nameOf(entry))
    t.match(priceAsOf, /^\d{4}-\d\d-\d\d$/, nameOf(entry))
    t.ok((priceAsOf ?? '') >= OLDEST && Date.parse(priceAsOf ?? '') <= Date.now(), nameOf(entry))
  }
  t.ok(bootstrapModels('toy').filter(({ pricingSource }) => pricingSource === 'bootstrap').length >= 10)
  t.end()
})

t.test('models.toml: entries, premium models, and errors that name the entry and the field', t => {
  const { models, premium } = parseModels(
    `[[models]]
id = "mine"
provider_type = "groq"
cost_per_1k_input = 0.5
capabilities = { max_context = 1000, tier = "elite", supports_vision = true }
[premium]
codegen = "groq/mine"`,
    'models.toml'
  )
  t.match(models[0], {
    id: 'mine',
    provider: 'groq',
    costPer1k: 0.25,
    pricingSource: 'user_config',
    isFree: false,
    capabilities: { maxContext: 1_000, tier: 'elite', supportsVision: true, supportsJson: true }
  })
  t.same(premium, { codegen: 'groq/mine' })
  const price = '[[models]]\nid = "a"\nprovider_type = "groq"\ncost_per_1k_output = 0.5'
  t.match(parseModels(price, 'models.toml').models[0], { costPer1kOutput: 0.5, pricingSource: 'user_config' })
  for (const [text, message] of [
    ['x', /^models.toml: /],
    ['modles = []', /"modles" is not known/],
    ['models = 1', /models is no list/],
    ['[[models]]\nid = "a"', /models\[0\]: provider_type is none of google_direct, /],
    ['[[models]]\nid = "a"\nprovider_type = "constructor"', /models\[0\]: provider_type is none of google_direct, /],
    [
      '[[models]]\nid = "a"\nprovider_type = "ollama"\ncapabilities = { rate_limit_rpd = 5 }',
      /models\[0\]: capabilities.rate_limit_rpd is only for hosted models/
    ],
    ['[premium]\ncoding = "groq/a"', /premium.coding is not known; the categories are codegen, /],
    ['[[models]]\nprovider_type = "groq"', /models\[0\]: id is missing/],
    ['[[models]]\nid = "a"\nprovider_type = "groq"\nmax_tokens = 0', /max_tokens is no whole number above 0/],
    ['[[models]]\nid = "a"\nprovider_type = "groq"\ncost_per_1k = -1', /cost_per_1k is no number of at least 0/],
    ['[[models]]\nid = "a"\nprovider_type = "groq"\ncost = 1', /cost is not known; the fields are id, /],
    [
      '[[models]]\nid = "a"\nprovider_type = "groq"\ncapabilities = { tier = "x" }',
      /capabilities.tier is none of light/
    ],
    [
      '[[models]]\nid = "a"\nprovider_type = "groq"\nurl = "https://a.example"',
      /url is only for provider_type = "custom"/
    ]
  ] as const) {
    t.throws(() => parseModels(text, 'models.toml'), { code: 'PRV_MODELS_FILE_INVALID', message }, text)
  }
  fc.assert(
    fc.property(fc.string(), text => {
      try {
        parseModels(text, 'f')
      } catch (error) {
        if ((error as { code?: string }).code !== 'PRV_MODELS_FILE_INVALID') throw error
      }
    })
  )
  t.end()
})

t.test('models.toml is written with explanations, read again after a change, and kept while it is invalid', async t => {
  const world = await openWorld(t, { settings: { groq_api_key: 'k', profile: 'cloud_compatible' } })
  await world.call('list')
  const path = join(t.testdirName, 'models.toml')
  t.match(await readFile(path, 'utf8'), /provider_type = "custom"/)
  const ids = async () => (await world.call('list', { provider: 'groq' })).models.map(({ id }: any) => id)
  await writeFile(path, '[[models]]\nid = "mine"\nprovider_type = "groq"\n')
  while (!(await ids()).includes('mine')) await new Promise(resolve => setTimeout(resolve, 100))
  await writeFile(path, '[[models]]\nid = 7\n')
  let problems: string[] = []
  while (problems.length === 0) {
    await new Promise(resolve => setTimeout(resolve, 100))
    problems = (await world.call('list')).problems
  }
  t.match(problems, [/models\[0\]: provider_type is none of/])
  t.ok((await ids()).includes('mine'))
})

t.test('limits: defaults, then the file, then the text; the most specific one applies', async t => {
  const settings = { daily_limit: 101, limited_providers: 'openrouter, Groq,ollama,' }
  t.same(
    [...defaultLimits(settings)],
    [
      ['openrouter/*', 101],
      ['openrouter/:free', 50],
      ['groq/*', 101]
    ]
  )
  const file = join(
    t.testdir({ 'limits.json': '{"groq/*": 7, "groq/m": 8, "x": 1, "groq/bad": "9", "mistral/*": 1.5}' }),
    'limits.json'
  )
  const warnings: string[] = []
  const warn = (text: string) => void warnings.push(text)
  const limits = await readLimits({ ...settings, daily_limits_file: file, daily_limits_json: '{"groq/m": 9}' }, warn)
  t.same(limitOf(limits, { provider: 'groq', id: 'm' }), { calls: 9, scope: 'model' })
  t.same(limitOf(limits, { provider: 'groq', id: 'other' }), { calls: 7, scope: 'provider' })
  t.same(limitOf(limits, { provider: 'openrouter', id: 'a/b:free' }), { calls: 50, scope: 'free' })
  t.equal(limitOf(limits, { provider: 'ollama', id: 'm' }), null)
  t.equal(limitOf(limits, { provider: 'mistral', id: 'm' }), null)
  t.same(warnings, [])
  for (const bad of ['[]', 'null', '{', '7']) {
    t.same([...(await readLimits({ ...settings, daily_limits_json: bad }, warn))], [...defaultLimits(settings)])
  }
  await readLimits({ ...settings, daily_limits_file: `${file}.missing` }, warn)
  t.equal(warnings.length, 5)
  t.match(warnings.at(-1), /limits.json.missing is not readable: ENOENT/)
})
