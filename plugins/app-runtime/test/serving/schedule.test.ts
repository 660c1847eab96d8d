import type { PluginContext } from '@svc/plugin-sdk'
import t from 'tap'
import { runSchedule } from '#serving'
import { programFrom } from '../run-program.ts'

t.test('scheduled functions are called until the plugin begins to end', async t => {
  const program = programFrom('@scheduled("5ms")\nfn tick() { print("tick") }')
  const ending = new AbortController()
  const running: Promise<void>[] = []
  const ctx = {
    background: (_label: string, run: (signal: AbortSignal) => Promise<void>) => void running.push(run(ending.signal)),
    log: { warn: () => undefined, error: () => undefined }
  } as unknown as PluginContext
  let calls = 0
  await new Promise<void>(resolve => {
    runSchedule(ctx, program, {
      call(_endpoint, _input, answer) {
        calls++
        answer(200, 'null')
        if (calls === 3) resolve()
      }
    })
  })
  t.equal(running.length, 1)
  ending.abort()
  await Promise.all(running)
  const before = calls
  await new Promise(resolve => setTimeout(resolve, 50))
  t.equal(calls, before)
})

t.test('an interval may be longer than a timer of the platform', async t => {
  const program = programFrom('@scheduled("30d")\nfn monthly() { print("tick") }')
  const ending = new AbortController()
  const ctx = {
    background: (_label: string, run: (signal: AbortSignal) => Promise<void>) => void run(ending.signal),
    log: { warn: () => undefined, error: () => undefined }
  } as unknown as PluginContext
  const { setTimeout: original } = globalThis
  t.teardown(() => Object.assign(globalThis, { setTimeout: original }))
  const timers: { readonly run: () => void; readonly ms: number }[] = []
  Object.assign(globalThis, { setTimeout: (run: () => void, ms: number) => timers.push({ run, ms }) })
  let calls = 0
  runSchedule(ctx, program, { call: () => void calls++ })
  for (let elapsed = 0; calls === 0; ) {
    const { run, ms } = timers.shift() ?? { run: () => t.fail('no timer'), ms: Number.POSITIVE_INFINITY }
    elapsed += ms
    run()
    if (calls === 0) t.ok(elapsed < 30 * 86_400_000)
    else t.equal(elapsed, 30 * 86_400_000)
  }
  ending.abort()
})
