import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { serveInProcess, until } from '../../../../test/e2e/served-in-process.ts'
import { bearer, call, SET } from './guarded-app.ts'
import { ownToken } from './tokens.ts'

const SOURCE = `
@rate_limit(by: ip, per: "1h", max: 100) @query fn hundred() to int { 1 }
@auth @rate_limit(by: user, per: "1h", max: 2) @query fn mine() to str { request.user.id }
@auth(optional: true) @rate_limit(by: user, per: "1h", max: 1) @query fn maybe() to int { 1 }
@auth @rate_limit(by: api_key, per: "1h", max: 1) @mutation fn keyed() to int { 1 }
@public @rate_limit(by: endpoint, window_secs: 3600, max: 1) http get "/once" to int { 1 }
`

/** Sends a request many times over one connection, without waiting. Returns the number of answers by status. */
async function flood(url: string, path: string, count: number): Promise<Map<number, number>> {
  const { hostname, port, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  const statuses = new Map<number, number>()
  let rest = ''
  let answered = 0
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject)
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      const whole = rest + text
      for (const [, status] of whole.matchAll(/HTTP\/1\.1 (\d{3}) /g)) {
        statuses.set(Number(status), (statuses.get(Number(status)) ?? 0) + 1)
        answered++
      }
      // A status line may be split.
      rest = /HTTP\/1\.1 \d{0,3}$|H(T(T(P(\/(1(\.(1( )?)?)?)?)?)?)?)?$/.exec(whole)?.[0] ?? ''
      if (answered >= count) resolve()
    })
    socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n\r\n`.repeat(count))
  })
  socket.destroy()
  return statuses
}

t.setTimeout(120_000)

t.test('of 10,000 calls at a limit of 100, exactly 100 pass, and the others learn when to call again', async t => {
  const app = await serveInProcess(t, SOURCE, { set: SET })
  const started = performance.now()
  const statuses = await flood(app.url, '/api/query/hundred', 10_000)
  const refilled = Math.floor((performance.now() - started) / 36_000)
  const passed = statuses.get(200) ?? 0
  t.ok(passed >= 100 && passed <= 100 + refilled, `${passed} passed`)
  t.equal(statuses.get(429), 10_000 - passed)
  const { status, body, headers } = await call(app, 'GET /api/query/hundred')
  t.match(
    { status, body },
    { status: 429, body: { code: 'RUN_RATE_LIMITED', details: { by: 'ip', max: 100 }, request_id: String } }
  )
  const seconds = Number(headers.get('retry-after'))
  t.ok(seconds >= 1 && seconds <= 36, `${seconds}`)
})

t.test('a mutation that runs again with others after a failure counts once', async t => {
  const app = await serveInProcess(
    t,
    `
@table type Entry { key: str }
@public @rate_limit(by: ip, per: "1h", max: 100) @mutation fn enter(key: str) to Result[int] {
    let id = db.Entry.insert({ key: key })
    assert(key isnt "fail", "failed on purpose")
    if key is "refuse" { return Error("refused on purpose") }
    Ok(id)
}
@auth @query fn entries() to int { db.Entry.count() }
`,
    { set: SET }
  )
  const keys = Array.from({ length: 100 }, (_, index) => ['do', 'fail', 'refuse', 'do'][index % 4] as string)
  const enter = async (key: string): Promise<number> => {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ key })
    return (await fetch(`${app.url}/api/mutation/enter`, { method: 'POST', headers, body })).status
  }
  const statuses = await Promise.all(keys.map(enter))
  t.same(
    statuses,
    keys.map(key => (key === 'do' ? 200 : 500)),
    'each call counted once'
  )
  t.equal(await enter('do'), 429)
  const { body } = await call(app, 'GET /api/query/entries', bearer(await ownToken({ sub: 'ann' })))
  t.equal(body, 50)
})

t.test('limits count by user, by API key, by address of anonymous callers, and by endpoint', async t => {
  const app = await serveInProcess(t, SOURCE, { set: SET })
  const [ann, eve] = [bearer(await ownToken({ sub: 'ann' })), bearer(await ownToken({ sub: 'eve' }))]
  const statuses = async (request: string, all: readonly Record<string, string>[]): Promise<number[]> => {
    const found: number[] = []
    for (const headers of all) found.push((await call(app, request, headers)).status)
    return found
  }
  t.same(await statuses('GET /api/query/mine', [ann, ann, ann, eve, {}, {}, {}]), [200, 200, 429, 200, 401, 401, 401])
  t.same(await statuses('GET /api/query/maybe', [{}, {}, ann]), [200, 429, 200])
  t.same(await statuses('GET /once', [{}, ann]), [200, 429])
  const keys = []
  for (let left = 2; left > 0; left--) {
    const { token } = await app.call('auth.token.create', { subject: 'ann' })
    keys.push({ 'x-api-key': token as string })
  }
  const [one = {}, other = {}] = keys
  t.same(await statuses('POST /api/mutation/keyed', [one, one, other, ann]), [200, 429, 200, 200])
})

t.test('a saved file does not allow more calls', async t => {
  const app = await serveInProcess(t, SOURCE, { set: SET })
  t.equal((await call(app, 'GET /once')).status, 200)
  writeFileSync(join(app.folder, 'app.vox'), `${SOURCE}\n@public @query fn added() to int { 1 }\n`)
  await until(
    () => call(app, 'GET /api/query/added'),
    ({ status }) => status === 200
  )
  t.equal((await call(app, 'GET /once')).status, 429)
})
