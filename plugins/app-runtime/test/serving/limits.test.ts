import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type App, serveApp } from './served-app.ts'

const SOURCE = `
@table
type Entry { n: int }

@query
fn quick(n: int) to int { n + 1 }

@server
fn spin() to int {
    let mut i = 0
    while true { i = i + 1 }
    i
}

@server
fn backtrack() to bool {
    std.regex.compile("^(a+)+$").unwrap().matches("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab")
}

@mutation
fn stuck() to bool {
    db.Entry.insert({ n: 1 })
    std.regex.compile("^(a+)+$").unwrap().matches("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab")
}

@server
fn keep(n: int) to bool {
    db.Entry.insert({ n: n })
    std.regex.compile("^(a+)+$").unwrap().matches("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab")
}

http post "/keep/:n"(n: int) to bool { keep(n) }

@mutation
fn enter(n: int) to Result[int] { db.Entry.insert({ n: n }) }

@query
fn entries() to int { db.Entry.count() }

@server
fn allocate() to int {
    let mut all = []
    let mut i = 0
    while true {
        all = all.push("some text that is not short " + str(i))
        i = i + 1
    }
    len(all)
}

@server
fn deep(n: int) to int { 1 + deep(n + 1) }

@server
fn nap(ms: int) to int {
    sleep(ms)
    ms
}
`

const LIMITS = {
  'app-runtime.time_limit_ms': 1500,
  'app-runtime.heap_mb': 64,
  'app-runtime.steps': 1_000_000_000_000,
  'app-runtime.threads': 3
}

let app: App
t.before(async () => {
  app = await serveApp(t as never, SOURCE, LIMITS)
})

t.test('endless calls are stopped and logged, while other calls return', async t => {
  const calls: readonly (readonly [name: string, body: object, code: RegExp, status: number])[] = [
    ['spin', {}, /RUN_TIME_LIMIT/, 504],
    ['backtrack', {}, /RUN_TIME_LIMIT/, 504],
    ['allocate', {}, /RUN_(MEMORY|TIME)_LIMIT/, 500],
    ['deep', { n: 0 }, /RUN_STACK_LIMIT/, 500]
  ]
  for (const [name, body, code, status] of calls) {
    let isOver = false
    const slow = app.post(`/api/${name}`, body).finally(() => {
      isOver = true
    })
    const wrong: unknown[] = []
    let answered = 0
    do {
      const answer = await app.get(`/api/query/quick?n=${answered}`)
      if (answer.body !== ++answered) wrong.push(answer)
      await sleep(50)
    } while (!isOver)
    t.same(wrong, [], `${answered} other calls returned during ${name}`)
    const answer = await slow
    t.match((answer.body as { code: string }).code, code, name)
    if (status === 504) t.equal(answer.status, status)
    t.match(await app.line(new RegExp(`server ${name}`)), code, 'the log names the function')
  }
})

t.test('a stopped writer has written nothing, reports that, and blocks no other writers', async t => {
  await app.post('/api/mutation/enter', { n: 1 })
  const stuck = app.post('/api/mutation/stuck', {})
  const others = Array.from({ length: 5 }, (_, n) => app.post('/api/mutation/enter', { n }))
  t.match(await stuck, {
    status: 504,
    body: { code: 'RUN_TIME_LIMIT', committed: false, error: /it had no effect/ }
  })
  for (const other of others) t.match(await other, { status: 200 })
  t.same(await app.get('/api/query/entries'), { status: 200, body: 6 })
})

t.test('a stopped server function or route that wrote reports that its changes may have been stored', async t => {
  const before = (await app.get('/api/query/entries')).body as number
  const stopped = {
    status: 504,
    body: { code: 'RUN_TIME_LIMIT', committed: null, error: /its changes may have been stored$/ }
  }
  for (const answer of await Promise.all([app.post('/api/keep', { n: 1 }), app.post('/keep/1', {})]))
    t.match(answer, stopped)
  t.same(await app.get('/api/query/entries'), { status: 200, body: before + 2 })
})

t.test('functions that wait do not block others', async t => {
  const app = await serveApp(t, SOURCE, { ...LIMITS, 'app-runtime.time_limit_ms': 120_000 })
  const naps = [app.post('/api/nap', { ms: 5_000 }), app.post('/api/nap', { ms: 5_000 })]
  const quick = Array.from({ length: 50 }, (_, n) => app.get(`/api/query/quick?n=${n}`))
  const first = await Promise.race([
    ...naps.map(nap => nap.then(() => 'a nap')),
    Promise.all(quick).then(() => 'the others')
  ])
  t.equal(first, 'the others')
  for (const nap of naps) t.same(await nap, { status: 200, body: 5_000 })
})
