import { readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import t from 'tap'
import { type ServedApp, serveInProcess } from '../../../../test/e2e/served-in-process.ts'

// Each run that is ended at a limit takes up to 5 seconds.
t.setTimeout(300_000)

let app: ServedApp
t.before(async () => {
  app = await serveInProcess(t as never, 'fn main() { }\n')
})

interface Run {
  readonly ok: boolean
  readonly output: readonly { readonly kind: string; readonly text: string }[]
  readonly cut: boolean
  readonly result: string | null
  readonly error: { readonly code: string | null; readonly message: string; readonly line: number | null } | null
  readonly tables: readonly { readonly name: string; readonly rows: readonly object[]; readonly total: number }[] | null
}

const play = (source: string): Promise<Run> => app.call('app.playground', { source })
const text = (run: Run): string[] => run.output.map(line => line.text)

const NOTES = '@table\ntype Note { title: str, done: bool = false }\n'

t.test('a program runs, and its output, result and rows are returned', async t => {
  const run = await play(`${NOTES}
@mutation
fn add(title: str) to Result[int] { Ok(db.Note.insert({ title: title })) }

fn main() to int {
    add("one")
    std.log.warn("adding", { id: 2 })
    add("two")
    print("added")
    db.Note.count()
}
`)
  t.match(run, {
    ok: true,
    output: [
      { kind: 'warn', text: 'adding  id=2' },
      { kind: 'print', text: 'added' }
    ],
    cut: false,
    result: '2',
    error: null,
    tables: [
      { name: 'Note', columns: ['_id', 'title', 'done'], rows: [{ title: 'one', done: false }, { title: 'two' }] }
    ]
  })
  t.match(await play(`${NOTES}print(db.Note.count())`), { output: [{ text: '0' }], tables: [{ total: 0 }] })
})

t.test('a program with errors is refused with the place of the first', async t => {
  t.match(await play('fn main() {\n    let x: int = "a"\n}\n'), {
    ok: false,
    error: { code: 'typecheck.let_mismatch', line: 2, message: /playground\.vox:2/ },
    tables: null
  })
  t.match(await play('@@@'), { ok: false, error: { line: 1 } })
})

t.test('a failure names its place, and the rows that were stored before it are shown', async t => {
  const run = await play(
    `${NOTES}\nfn main() {\n    db.Note.insert({ title: "kept" })\n    print(1 / (db.Note.count() - 1))\n}\n`
  )
  t.match(run, {
    ok: false,
    error: { code: 'RUN_DIVISION_BY_ZERO', line: 6 },
    tables: [{ rows: [{ title: 'kept' }], total: 1 }]
  })
  t.match(await play('fn main() to Result[int] { Error("no") }'), { ok: false, error: { code: null, message: 'no' } })
  t.match(await play('std.process.exit(3)'), { ok: false })
})

t.test('no capability is granted, also if the program asks for it', async t => {
  const denied = [
    'std.fs.read("/etc/passwd")',
    'std.http.get_text("http://127.0.0.1:1/")',
    'std.process.run("id", [])',
    'std.env.get("HOME")',
    'Browser.open("http://127.0.0.1:1/")'
  ]
  for (const call of denied) {
    const run = await play(`// vox:caps fs net process env secrets browser\nfn main() { print(${call}) }\n`)
    t.equal(run.ok, false, call)
    t.equal(run.error?.code, 'RUN_CAPABILITY_DENIED', `${call}: ${JSON.stringify(run.error)}`)
  }
  const attached = await play(`${NOTES}fn main() { db.query("ATTACH '/tmp/playground.db' AS other", []) }`)
  t.equal(attached.ok, false, 'another file cannot be attached')
})

t.test('a program stores files within limits, and none is left', async t => {
  const left = (): string[] => readdirSync(tmpdir()).filter(name => name.startsWith('svc-files-'))
  const before = left()
  const run = await play(`@table type Report { title: str, file: File }
fn main() to Result[str] {
    let file = std.files.put("a.txt", "first")?
    db.Report.insert({ title: "a", file: file })
    let other = std.files.put("b.txt", "second")?
    print(std.files.list().len(), std.files.read(other)?, std.files.delete(other).is_ok(), std.files.delete(file).is_ok())
    std.files.read(db.Report.all()[0].file)
}
`)
  t.match(run, { ok: true, output: [{ text: '2 second true false' }], result: 'Ok(first)' })
  t.match(run.tables, [{ name: 'Report', rows: [{ title: 'a', file: { name: 'a.txt', size: 5 } }] }])
  t.match(await play('print(std.files.list().len())'), { output: [{ text: '0' }] }, 'each run begins without files')
  const large = (exponent: number, count: number): string => `fn main() to Result[int] {
    let mut s = "x"
    for n in range(0, ${exponent}) { s = s + s }
    for n in range(0, ${count}) { std.files.put(str(n), s)? }
    Ok(std.files.list().len())
}
`
  t.match(await play(large(23, 1)), { ok: false, error: { message: /larger than 4194304 bytes/ } })
  t.match(await play(large(21, 9)), { ok: false, error: { message: /more than 16777216 bytes/ } })
  t.match(await play(large(20, 5)), { ok: true, result: 'Ok(5)' })
  const thenEmpty = large(22, 4).replace('Ok(', 'std.files.put("empty", "")?\n Ok(')
  t.match(await play(thenEmpty), { ok: false, error: { message: /more than 16777216 bytes/ } })
  t.same(left(), before)
})

t.test('an endless loop, endless recursion, and statements that do not return are ended', async t => {
  const loops: readonly (readonly [source: string, code: RegExp])[] = [
    ['loop { }', /^RUN_(TIME|STEP)_LIMIT$/],
    ['fn f(n: int) to int { f(n + 1) }\nfn main() { print(f(0)) }', /^RUN_STACK_LIMIT$/],
    [
      `${NOTES}fn main() { db.query("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", []) }`,
      /^RUN_(TIME_LIMIT|DATABASE\w*)$/
    ],
    [
      `fn main() { match std.regex.compile("(a+)+$") { Ok(r) => print(r.find_all("${'a'.repeat(60)}b").len()), Error(e) => print(e) } }`,
      /^RUN_TIME_LIMIT$/
    ]
  ]
  const runs = await Promise.all(loops.map(([source]) => play(source)))
  for (const [index, run] of runs.entries()) t.match(run.error?.code, loops[index]?.[1], JSON.stringify(run.error))
  t.match(await play('print("alive")'), { ok: true })
})

t.test('huge output, values and rows are cut or refused, and the process goes on', async t => {
  const lines = await play('for n in range(0, 1000000) { print("line " + str(n)) }')
  t.equal(lines.cut, true)
  t.ok(text(lines).join('\n').length <= 200_000)
  t.equal(text(lines)[0], 'line 0')
  let peak = 0
  const sampling = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss)
  }, 20)
  const big = await play('let mut s = "x"\nfor n in range(0, 22) { s = s + s }\nloop { print(s) }')
  t.equal(big.ok, false)
  t.equal(big.cut, true)
  t.same(big.tables, [], 'the program ends by itself, so that its tables are read')
  const logs = await play('let mut s = "x"\nfor n in range(0, 22) { s = s + s }\nloop { std.log.info(s, { a: 1 }) }')
  t.equal(logs.ok, false)
  clearInterval(sampling)
  t.ok(peak < 2 * 2 ** 30, `lines of 4 MB do not pile up in memory: at most ${Math.round(peak / 2 ** 20)} MB`)
  const heap = await play('let mut all: List[str] = []\nlet mut s = "x"\nloop { s = s + "yyyyyyyy"\n all.push(s) }')
  t.match(heap.error?.code, /^RUN_(MEMORY|TIME|STEP)_LIMIT$/)
  const result = await play('fn main() to str {\n let mut s = "x"\n for n in range(0, 20) { s = s + s }\n s\n}')
  t.ok((result.result ?? '').length < 70_000)
  const rows = await play(
    `${NOTES}let mut s = "x"\nfor n in range(0, 20) { s = s + s }\nloop { db.Note.insert({ title: s }) }`
  )
  t.match(rows.error?.code, /^RUN_(DATABASE_FULL|TIME_LIMIT)$/, JSON.stringify(rows.error))
  t.ok((rows.tables?.[0]?.rows.length ?? 0) <= 50)
  t.ok(JSON.stringify(rows).length < 1_000_000)
})

t.test('a run ends when its caller leaves', async t => {
  const caller = new AbortController()
  const principal = { id: 'test', role: 'owner', scopes: ['*'] }
  const running = app.kernel.invoke(
    'app.playground',
    { source: 'loop { std.time.now_ms() }' },
    { surface: 'internal', principal, signal: caller.signal }
  )
  setTimeout(() => caller.abort(), 200)
  await t.rejects(running)
  t.match(await play('print("next")'), { ok: true }, 'the place of the run is free again')
})

t.test('tables, actors, workflows and live queries of one run do not reach the next', async t => {
  const source = `${NOTES}
actor Counter {
    state count: int = 0
    on add(n: int) to int { count = count + n\n count }
}
fn main() {
    let c = spawn Counter()
    print(c.add(2))
    db.Note.insert({ title: "a" })
}
`
  for (const _ of [1, 2]) {
    const run = await play(source)
    t.match(run, { ok: true, output: [{ text: '2' }], tables: [{ total: 1 }] }, JSON.stringify(run.error))
  }
})

t.test('texts at the limit are checked outside of the main thread, and longer ones are refused', async t => {
  const long = `${'// comment\n'.repeat(20_000)}print("long")\n`
  t.match(await play(long), { ok: true, output: [{ text: 'long' }] })
  await t.rejects(play('x'.repeat(262_145)), { code: /INPUT/ })
})
