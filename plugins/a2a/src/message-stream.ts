import type { A2aBus, A2aMessage } from '@svc/contracts'
import type { DurableInbox } from './durable-inbox.ts'

const PAGE = 256

/** Interval of polls for messages of other processes. */
const POLL_MS = 500

/**
 * Passes every new message to `emit` until the signal is aborted; claims none. Local messages and broadcasts are in
 * order of sending. Durable messages, including those of other processes, are sorted by id.
 */
export async function streamMessages(
  bus: Pick<A2aBus, 'subscribe'>,
  durable: Pick<DurableInbox, 'after' | 'lastId'> | null,
  emit: (message: A2aMessage) => void,
  signal: AbortSignal,
  ready: () => void = () => undefined
): Promise<void> {
  let wake = (): void => undefined
  // A durable message is already stored when the bus notifies; the loop below emits it in order.
  const stop = bus.subscribe(message => (message.plane === 'local_durable' ? wake() : emit(message)))
  const waitForWake = (milliseconds: number | null): Promise<void> =>
    new Promise(resolve => {
      const timer = milliseconds === null ? undefined : setTimeout(() => wake(), milliseconds)
      wake = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      signal.addEventListener('abort', wake, { once: true })
      if (signal.aborted) wake()
    })
  try {
    let last = (await durable?.lastId()) ?? 0
    ready()
    while (!signal.aborted) {
      const page = (await durable?.after(last, PAGE)) ?? []
      for (const message of page) {
        if (signal.aborted) return
        last = message.id
        emit(message)
      }
      if (page.length < PAGE) await waitForWake(durable === null ? null : POLL_MS)
    }
  } finally {
    stop()
  }
}
