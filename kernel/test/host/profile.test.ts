import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { ownerOfFile } from '#guards'
import { sampleCpu } from '#host'
import { start } from '../fixtures/loader/plugin-folder.ts'

const BUSY = `
  const spin = () => { const end = performance.now() + 20; while (performance.now() < end) JSON.parse('{"a":[1,2,3]}') }
  const loop = () => { spin(); if (ctx.on()) setImmediate(loop) }
  loop()
`

t.test('a plugin that keeps the processor busy is named, with work that it makes others do', async t => {
  const { plugin } = await start(t, BUSY)
  let on = true
  plugin.activate({ on: () => on })
  const shares = await sampleCpu(300, ownerOfFile)
  on = false
  const total = [...shares.values()].reduce((sum, each) => sum + each, 0)
  const busy = shares.get('sample') ?? 0
  t.ok(busy > total / 2, `${Math.round((busy / total) * 100)} % of ${[...shares.keys()].join(', ')}`)
})

t.test('a handler that the engine has made one with its caller is told apart from it', async t => {
  const { plugin } = await start(
    t,
    'ctx.run(() => { let x = 0; for (let i = 0; i < 3000; i++) x = Math.sin(x + i); return x })'
  )
  let handler: () => number = () => 0
  plugin.activate({ run: (given: () => number) => (handler = given) })
  let on = true
  const caller = async (): Promise<void> => {
    while (on) {
      for (let call = 0; call < 50; call++) handler()
      await turn()
    }
  }
  const calling = caller()
  await sleep(300)
  const shares = await sampleCpu(300, ownerOfFile)
  on = false
  await calling
  const total = [...shares.values()].reduce((sum, each) => sum + each, 0)
  // Not told apart it would have next to nothing; how much it has depends on when the engine optimizes.
  t.ok((shares.get('sample') ?? 0) > total / 10, JSON.stringify([...shares]))
})

t.test('a process that rests is idle', async t => {
  const shares = await sampleCpu(100, ownerOfFile)
  t.ok((shares.get('idle') ?? 0) > 0)
  t.notOk(shares.has('sample'))
  t.ok((shares.get('kernel') ?? 0) < (shares.get('node') ?? 0), 'what the profiler itself does is not the kernel')
})

t.test('two who look at once both see', async t => {
  const [one, two] = await Promise.all([sampleCpu(60, ownerOfFile), sampleCpu(120, ownerOfFile)])
  t.ok(one.size > 0)
  t.ok(two.size > 0)
})

t.test('whoever loses interest ends it, also before it began', async t => {
  const controller = new AbortController()
  const sampling = sampleCpu(60_000, ownerOfFile, controller.signal)
  controller.abort(new Error('enough'))
  await t.rejects(sampling, { message: 'enough' })
  await t.rejects(sampleCpu(60_000, ownerOfFile, AbortSignal.abort(new Error('never mind'))), { message: 'never mind' })
})
