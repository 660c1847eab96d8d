// Puts, claims and acknowledges items of one queue until the parent process disconnects. Writes each step to a file
// before it goes on, so that the steps of a killed process are known.
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { isSvcError } from '@svc/plugin-sdk'
import { openStore } from './stores.ts'

/** A line of the history. `acking` is written before the call, `acked` when it was true. */
export type Step =
  | { readonly kind: 'put'; readonly key: string; readonly id: number }
  | {
      readonly kind: 'claim'
      readonly id: number
      readonly fence: number
      readonly from: number
      readonly until: number
    }
  | { readonly kind: 'acking' | 'acked'; readonly id: number; readonly fence: number }
  | { readonly kind: 'lease'; readonly key: string; readonly fence: number }

const [url = '', file = '', name = '', lease = ''] = process.argv.slice(2)
const leaseMs = Number(lease)
// The parent may have disconnected while this script was loaded.
let isStopped = !process.connected
process.once('disconnect', () => {
  isStopped = true
})
const note = (step: Step): void => appendFileSync(file, `${JSON.stringify(step)}\n`)

/** Repeats a call until its outcome is known. */
async function certain<A>(call: () => Promise<A>): Promise<A> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!isSvcError(error, 'CRD_UNAVAILABLE')) throw error
      await sleep(10)
    }
  }
}

const store = openStore(url, { connections: 3 })
for (let at = 0; !isStopped; at += 1) {
  const key = `${name}-${at}`
  const [put] = await certain(() => store.put([{ queue: 'q', key, body: JSON.stringify(key) }]))
  note({ kind: 'put', key, id: put?.id as number })
  const granted = await certain(() => store.grant('s', `k${at % 3}`, name, leaseMs))
  if ('fence' in granted) note({ kind: 'lease', key: granted.key, fence: granted.fence })
  for (const { id, fence, visibleAt } of await certain(() => store.claim('q', name, { max: 2, leaseMs }))) {
    note({ kind: 'claim', id, fence, from: visibleAt - leaseMs, until: visibleAt })
    // Some items are held past their lease.
    if ((id + at) % 7 === 0) await sleep(leaseMs * 1.5)
    note({ kind: 'acking', id, fence })
    const [done] = await certain(() => store.ack([{ id, fence }]))
    if (done === true) note({ kind: 'acked', id, fence })
  }
}
await store.close()
