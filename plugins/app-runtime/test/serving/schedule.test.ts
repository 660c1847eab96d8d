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
