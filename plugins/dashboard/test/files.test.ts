import tap from 'tap'
import { codeOf, openWorld } from './world.ts'

tap.test('the page is served at / and at every path of the console, without a session', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  for (const path of ['/', '/ui', '/ui/p/shop/orders/7', '/ui/plugins', '/?x=1']) {
    const response = await fetch(world.url(path))
    t.equal(response.status, 200, path)
    t.match(await response.text(), /<title>console/)
    t.match(response.headers.get('content-type'), /^text\/html/)
  }
})

tap.test('every answer has the headers that keep other pages and scripts out', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  const owner = await world.signIn()
  const answers = [
    await fetch(world.url('/')),
    await fetch(world.url('/ui/assets/main-ABC.js')),
    await fetch(world.url('/ui/assets/none.js')),
    await fetch(world.url('/ui/api/session')),
    await owner.get('/ui/api/console'),
    await owner.call('dashboard.pages'),
    await owner.call('none')
  ]
  for (const response of answers) {
    const policy = response.headers.get('content-security-policy') ?? ''
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      'trusted-types svc'
    ])
      t.ok(policy.split('; ').includes(part), `${response.url}: ${part}`)
    t.notMatch(policy, /unsafe/)
    t.equal(response.headers.get('x-content-type-options'), 'nosniff')
    t.equal(response.headers.get('referrer-policy'), 'no-referrer')
    t.equal(response.headers.get('cross-origin-opener-policy'), 'same-origin')
    t.equal(response.headers.get('cross-origin-resource-policy'), 'same-origin')
    t.equal(response.headers.get('access-control-allow-origin'), null)
  }
  t.equal(answers[4]?.headers.get('cache-control'), 'no-store')
})

tap.test('hashed files are immutable and compressed as the browser accepts', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  const get = (encoding: string): Promise<Response> =>
    fetch(world.url('/ui/assets/main-ABC.js'), { headers: { 'accept-encoding': encoding } })
  const plain = await get('identity')
  t.equal(await plain.text(), 'plain')
  t.match(plain.headers.get('cache-control'), /immutable/)
  t.equal(plain.headers.get('vary'), 'Accept-Encoding')
  t.match(plain.headers.get('content-type'), /^text\/javascript/)
  t.equal((await get('gzip, br;q=0')).headers.get('content-encoding'), 'gzip')
  t.equal((await get('gzip, br')).headers.get('content-encoding'), 'br')
})

tap.test('only files of the build are served', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  for (const name of [
    'none.js',
    '..%2Findex.html',
    '..%2F..%2Fetc%2Fpasswd',
    'meta.json',
    'index.html',
    '.hidden.js'
  ]) {
    const response = await fetch(world.url(`/ui/assets/${name}`))
    t.equal(response.status, 404, name)
    t.equal(await codeOf(response), 'DSH_FILE_UNKNOWN')
  }
  const unknown = await fetch(world.url('/ui/api/none'))
  t.equal(unknown.status, 404, 'the API does not answer with the page')
})

tap.test('without a built page the console says what is missing', async t => {
  const world = await openWorld({ page: false })
  t.teardown(() => world.close())
  const response = await fetch(world.url('/'))
  t.equal(response.status, 503)
  t.match(await response.json(), {
    error: { code: 'DSH_PAGE_MISSING', message: "the console's page is not built; run npm run build" }
  })
})

tap.test('/docs leads to the operations of the console', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  const response = await fetch(world.url('/docs'), { redirect: 'manual' })
  t.equal(response.status, 302)
  t.equal(response.headers.get('location'), '/ui/operations')
})
