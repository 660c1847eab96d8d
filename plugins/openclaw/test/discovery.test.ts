import t, { type Test } from 'tap'
import { Discovery, type Settings } from '#root'
import { type FakeOptions, fakeGateway, sendJson } from './fake-gateway.ts'
import { DEFAULTS } from './open-gateway.ts'

const PATH = '/.well-known/openclaw.json'

async function discover(t: Test, options: FakeOptions, settings: Partial<Settings> = {}) {
  const fake = await fakeGateway(t, options)
  let now = 1_000_000
  const discovery = new Discovery({ ...DEFAULTS, url: fake.url, ...settings }, () => now)
  return {
    fake,
    discovery,
    pass: (seconds: number) => {
      now += seconds * 1000
    }
  }
}

const CAMEL = {
  schemaVersion: 1,
  gateway: { httpUrl: 'http://gateway.test:1/', wsUrl: 'ws://gateway.test:2' },
  catalog: { listUrl: 'http://catalog.test/list', searchUrl: 'http://catalog.test/search' },
  protocol: { minVersion: 2, maxVersion: 4 },
  cacheTtlSeconds: 600
}
const SNAKE = {
  schema_version: 1,
  gateway: { http_url: 'http://gateway.test:1/', ws_url: 'ws://gateway.test:2' },
  catalog: { list_url: 'http://catalog.test/list', search_url: 'http://catalog.test/search' },
  protocol: { min_version: 2, max_version: 4 },
  cache_ttl_seconds: 600
}
const ALIASES = [
  { gatewayUrl: 'http://gateway.test:1', gatewayWsUrl: 'ws://gateway.test:2', skillsUrl: 'http://catalog.test/list' },
  { gateway_url: 'http://gateway.test:1', ws: 'ws://gateway.test:2', list: 'http://catalog.test/list' },
  {
    gateway: { http: 'http://gateway.test:1', ws: 'ws://gateway.test:2' },
    catalog: { list: 'http://catalog.test/list' }
  }
]

for (const [spelling, document] of Object.entries({ camelCase: CAMEL, snake_case: SNAKE })) {
  t.test(`a document in ${spelling} contains all addresses`, async t => {
    const { fake, discovery } = await discover(t, { http: { [PATH]: sendJson(document) } })
    const named = new Discovery({ ...DEFAULTS, well_known_url: `${fake.url}${PATH}` }, () => 5)
    t.same(await named.endpoints(), {
      http_gateway_url: 'http://gateway.test:1',
      ws_gateway_url: 'ws://gateway.test:2',
      catalog_list_url: 'http://catalog.test/list',
      catalog_search_url: 'http://catalog.test/search',
      discovery_source: `well-known:${fake.url}${PATH}`,
      cache_expires_at_ms: 600_005,
      protocol: { min: 2, max: 4 },
      hasSearch: true
    })
    t.match(
      await discovery.endpoints(),
      { http_gateway_url: fake.url, ws_gateway_url: 'ws://gateway.test:2' },
      'settings override the document'
    )
    t.same(
      fake.seen.map(({ authorization }) => authorization),
      [undefined, undefined]
    )
  })
}

t.test('other spellings of the keys are accepted', async t => {
  for (const document of [
    ...ALIASES,
    { search: 'http://catalog.test/s' },
    { searchEndpoint: 'http://catalog.test/s' }
  ]) {
    const { fake } = await discover(t, { http: { [PATH]: sendJson(document) } })
    const found = await new Discovery({ ...DEFAULTS, well_known_url: `${fake.url}${PATH}` }).endpoints()
    if ('search' in document || 'searchEndpoint' in document) t.equal(found.catalog_search_url, 'http://catalog.test/s')
    else {
      t.match(found, {
        http_gateway_url: 'http://gateway.test:1',
        ws_gateway_url: 'ws://gateway.test:2',
        catalog_list_url: 'http://catalog.test/list',
        catalog_search_url: 'http://gateway.test:1/v1/skills/search'
      })
    }
  }
})

t.test('invalid addresses are ignored', async t => {
  const document = { gateway: { httpUrl: 'file:///etc/passwd', wsUrl: 17 }, catalog: 'none', cacheTtlSeconds: 'long' }
  const { fake } = await discover(t, { http: { [PATH]: sendJson(document) } })
  t.match(await new Discovery({ ...DEFAULTS, well_known_url: `${fake.url}${PATH}` }).endpoints(), {
    http_gateway_url: 'http://127.0.0.1:3000',
    ws_gateway_url: 'ws://127.0.0.1:18789',
    catalog_list_url: 'http://127.0.0.1:3000/v1/skills',
    discovery_source: `well-known:${fake.url}${PATH}`
  })
})

t.test('without a document, the default addresses are used for 30 seconds', async t => {
  const { fake, discovery, pass } = await discover(t, {})
  t.same(await discovery.endpoints(), {
    http_gateway_url: fake.url,
    ws_gateway_url: 'ws://127.0.0.1:18789',
    catalog_list_url: `${fake.url}/v1/skills`,
    catalog_search_url: `${fake.url}/v1/skills/search`,
    discovery_source: `defaults (${fake.url}${PATH} returned HTTP status 404: nothing at ${PATH})`,
    cache_expires_at_ms: 1_030_000,
    protocol: null,
    hasSearch: false
  })
  pass(29)
  await discovery.endpoints()
  t.equal(fake.seen.length, 1)
  pass(1)
  await discovery.endpoints()
  t.equal(fake.seen.length, 2)
})

t.test('a document is cached for its TTL, from 30 seconds to a day', async t => {
  for (const [ttl, seconds] of [
    [1, 30],
    [1e9, 86_400],
    [undefined, 300]
  ] as const) {
    const document = ttl === undefined ? {} : { cacheTtlSeconds: ttl }
    const { fake, discovery, pass } = await discover(t, { http: { [PATH]: sendJson(document) } })
    t.equal((await discovery.endpoints()).cache_expires_at_ms, 1_000_000 + seconds * 1000)
    pass(seconds - 1)
    await discovery.endpoints()
    t.equal(fake.seen.length, 1)
    pass(1)
    await discovery.endpoints()
    t.equal(fake.seen.length, 2)
  }
})

t.test('the last valid document is used until there is a newer one', async t => {
  const options: FakeOptions = { http: { [PATH]: sendJson(CAMEL) } }
  const { fake, discovery, pass } = await discover(t, options)
  await discovery.endpoints()
  options.http = { [PATH]: (_, response) => void response.end('{ broken') }
  pass(600)
  const found = await discovery.endpoints()
  t.match(found.discovery_source, new RegExp(`^cache-last-good \\(${fake.url}${PATH}: .*JSON`))
  t.match(found, { ws_gateway_url: 'ws://gateway.test:2', cache_expires_at_ms: 1_630_000 })
  options.http = { [PATH]: sendJson({ gateway: { wsUrl: 'ws://moved.test' } }) }
  pass(30)
  t.match(await discovery.endpoints(), { ws_gateway_url: 'ws://moved.test', discovery_source: /^well-known:/ })
})

t.test('the lookup of a document has a timeout', async t => {
  const { discovery } = await discover(t, { http: { [PATH]: () => undefined } }, { discovery_timeout_ms: 20 })
  t.match((await discovery.endpoints()).discovery_source, /^defaults \(.*took longer than 20 ms\)$/)
})

t.test('an abort does not end the lookup of other callers', async t => {
  let answer: () => void = () => undefined
  const { fake, discovery } = await discover(t, {
    http: {
      [PATH]: (seen, response) => {
        answer = () => sendJson(CAMEL)(seen, response)
      }
    }
  })
  const controller = new AbortController()
  const impatient = discovery.endpoints(controller.signal)
  const patient = discovery.endpoints()
  controller.abort(new Error('gone'))
  await t.rejects(impatient, { message: 'gone' })
  while (fake.seen.length === 0) await new Promise(resolve => setImmediate(resolve))
  answer()
  t.match(await patient, { discovery_source: /^well-known:/ })
  t.equal(fake.seen.length, 1)
})

t.test('secrets in addresses are not shown', async t => {
  const found = await new Discovery({
    ...DEFAULTS,
    well_known_url: 'http://me:hidden@127.0.0.1:1/d?key=hidden'
  }).endpoints()
  t.match(found.discovery_source, /^defaults \(http:\/\/127\.0\.0\.1:1\/d: /)
  t.notMatch(found.discovery_source, /hidden/)
})
