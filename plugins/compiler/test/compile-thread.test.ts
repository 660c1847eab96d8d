import { setImmediate as turn } from 'node:timers/promises'
import { testKernel } from '@svc/plugin-sdk/testing'
import web from '@svc/plugin-web'
import t from 'tap'
import { type CompileJob, compileSource, doJob, MAX_INLINE_CHARS } from '#jobs'
import compiler from '#plugin'

const { signal } = new AbortController()
const OPTIONS = { allowComponentFunctions: false, suppressHookLints: false, script: false, strict: false }
const PADDING = '// padding\n'.repeat(MAX_INLINE_CHARS / 10)
const job = <K extends CompileJob['kind']>(kind: K, text: string): CompileJob & { readonly kind: K } => {
  return { kind, path: 'long.vox', text, options: OPTIONS, reportsHir: true, probesHost: false }
}

t.test('a long source gets the same result in a thread as on the calling one', async t => {
  const valid = `${PADDING}fn main() {\n    print( "Hello" )\n}\n`
  const broken = `${PADDING}fn main( {\n}\n`
  for (const kind of ['check', 'format', 'projection', 'stages'] as const)
    for (const text of [valid, broken]) {
      const [thread, here] = await Promise.all([compileSource(job(kind, text), signal), doJob(job(kind, text))])
      t.same(thread.outcome, here.outcome, kind)
      t.equal(thread.outcome.ok, text === valid || kind === 'check' || kind === 'stages', kind)
      const { milliseconds: _, ...run } = thread.run ?? {}
      t.match(run, {
        action: kind === 'format' ? 'format' : 'check',
        path: 'long.vox',
        errors: text === valid ? 0 : Number
      })
    }
  t.match((await compileSource(job('ir', valid), signal)).outcome, { ok: true, value: { module: Object } })
  t.match((await compileSource(job('check', valid), signal)).run, { hir: Object })
})

t.test('the event loop runs while a long source is compiled', async t => {
  const source = 'fn f() to int {\n    return 1\n}\n'.repeat(500)
  let turns = 0
  let isDone = false
  const compiled = compileSource(job('stages', source), signal).finally(() => {
    isDone = true
  })
  while (!isDone) {
    turns += 1
    await turn()
  }
  t.equal((await compiled).outcome.ok, true)
  t.ok(turns > 2, 'on the calling thread, there is no turn before the end')
})

t.test('a compilation ends at its time limit, and with its caller', async t => {
  const source = 'let x = "a"\n'.repeat(40_000)
  await t.rejects(compileSource(job('check', source), signal, 1), {
    code: 'CMP_LIMIT',
    message: /long\.vox cannot be compiled: it takes more than 1 ms/
  })
  const stop = new AbortController()
  const compiling = Promise.all([1, 2, 3].map(() => compileSource(job('check', source), stop.signal)))
  await turn()
  stop.abort(new Error('the client is gone'))
  await t.rejects(compiling, { message: 'the client is gone' })
  await t.rejects(compileSource(job('check', 'fn'), stop.signal), { message: 'the client is gone' })
})

t.test('operations compile long sources', async t => {
  const kernel = await testKernel([compiler, web] as never)
  t.teardown(() => kernel.close())
  const source = `${PADDING}fn main() {\n    print( "Hello" )\n}\n`
  t.match(await kernel.callById('compiler.check', { source }), { ok: true, diagnostics: [] })
  t.match(await kernel.callById('compiler.format', { source }), { changed: true, formatted: /print\("Hello"\)/ })
  await t.rejects(kernel.callById('compiler.ir', { source: `${source}fn (` }) as Promise<unknown>, {
    code: 'CMP_SOURCE_INVALID',
    message: /source\.vox has errors: .* \(line \d+\)/,
    data: { diagnostics: [{ severity: 'Error', file_path: 'source.vox' }] }
  })
})
