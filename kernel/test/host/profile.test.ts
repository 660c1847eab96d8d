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

/**
 * Sums microseconds of the plugin and of other JavaScript over windows until `enough` is true. The time of native code
 * does not count: on a busy machine it includes waiting for a CPU.
 */
async function sampleJavaScript(enough: (plugin: number, others: number) => boolean): Promise<[number, number]> {
  let plugin = 0
  let others = 0
  for (let window = 0; window < 20 && !enough(plugin, others); window++) {
    for (const [owner, time] of await sampleCpu(300, ownerOfFile)) {
      if (owner === 'sample') plugin += time
      else if (!['node', 'idle', 'gc'].includes(owner)) others += time
    }
  }
  return [plugin, others]
}

t.test('attributes CPU time to the busy plugin, including work in libraries that it calls', async t => {
  const { plugin } = await start(t, BUSY)
  let on = true
  plugin.activate({ on: () => on })
  const [busy, others] = await sampleJavaScript(plugin => plugin > 100_000)
  on = false
  t.ok(busy > others, `${busy} of the plugin, ${others} of others`)
})

t.test('attributes a handler that V8 inlined into its caller to its plugin', async t => {
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
  // The share depends on when V8 optimizes. Attributed to its caller, it would be close to zero.
  const [own, others] = await sampleJavaScript((plugin, others) => plugin > others / 10)
  on = false
  await calling
  t.ok(own > others / 10, `${own} of the plugin, ${others} of others`)
})

t.test('reports an idle process as idle', async t => {
  const shares = await sampleCpu(100, ownerOfFile)
  t.ok((shares.get('idle') ?? 0) > 0)
  t.notOk(shares.has('sample'))
  t.ok((shares.get('kernel') ?? 0) < (shares.get('node') ?? 0), 'work of the profiler does not count for the kernel')
})

t.test('two concurrent samplings both return a result', async t => {
  const [one, two] = await Promise.all([sampleCpu(60, ownerOfFile), sampleCpu(120, ownerOfFile)])
  t.ok(one.size > 0)
  t.ok(two.size > 0)
})

t.test('an abort signal ends a sampling, even before it starts', async t => {
  const controller = new AbortController()
  const sampling = sampleCpu(60_000, ownerOfFile, controller.signal)
  controller.abort(new Error('enough'))
  await t.rejects(sampling, { message: 'enough' })
  await t.rejects(sampleCpu(60_000, ownerOfFile, AbortSignal.abort(new Error('never mind'))), { message: 'never mind' })
})
