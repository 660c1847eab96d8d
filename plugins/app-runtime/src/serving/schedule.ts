import type { Program } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import { durationOf } from '../interpreter/duration.ts'
import { SYSTEM_TEXT } from '../interpreter/request.ts'
import { endpointsOf } from './endpoints.ts'
import type { ProgramPool } from './program-pool.ts'

/** Maximum delay of a Node timer. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Calls `@scheduled` functions at their interval, measured from start to start. Skips a function that still runs,
 * and starts none during shutdown.
 */
export function runSchedule(
  ctx: Pick<PluginContext, 'background' | 'log'>,
  program: Program,
  pool: Pick<ProgramPool, 'call'>
): void {
  const { module } = program
  for (const [index, { kind, name }] of endpointsOf(program).entries()) {
    if (kind !== 'scheduled') continue
    const { schedule_interval = '' } = module.functions.find(each => each.name === name) ?? {}
    const interval = durationOf(schedule_interval)
    let isRunning = false
    const tick = (): void => {
      if (isRunning) {
        ctx.log.warn(`${name} was skipped once, because the previous call has been running for ${schedule_interval}`)
        return
      }
      isRunning = true
      const onEnd = (status: number, body: string): void => {
        isRunning = false
        if (status !== 200) ctx.log.error(`${name}, which runs every ${schedule_interval}, failed: ${body}`)
      }
      pool.call(index, '', onEnd, undefined, SYSTEM_TEXT)
    }
    const stopTimer = every(interval, tick)
    ctx.background(`${name} every ${schedule_interval}`, signal => {
      return new Promise<void>(resolve => {
        const stop = (): void => {
          stopTimer()
          resolve()
        }
        if (signal.aborted) stop()
        else signal.addEventListener('abort', stop, { once: true })
      })
    })
  }
}

/** Calls a function at an interval of any length, in milliseconds. Returns a function that ends it. */
function every(interval: number, call: () => void): () => void {
  let timer: NodeJS.Timeout
  const start = (left: number): void => {
    timer = setTimeout(
      () => {
        if (left > MAX_TIMER_MS) return start(left - MAX_TIMER_MS)
        start(interval)
        call()
      },
      Math.min(left, MAX_TIMER_MS)
    )
  }
  start(interval)
  return () => clearTimeout(timer)
}
