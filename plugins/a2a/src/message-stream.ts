import type { A2aBus, A2aMessage } from '@svc/contracts'
import type { DurableInbox } from './durable-inbox.ts'

const PAGE = 256

/** Interval of polls for messages of other processes. */
const LOOK_EVERY_MS = 500

/**
 * Passes every new message to `emit` until the signal is aborted. Local messages and broadcasts are in bus order;
 * durable ones, also from other processes, are in number order. It claims no messages.
 */
export async function streamMessages(
  bus: Pick<A2aBus, 'subscribe'>,
  durable: Pick<DurableInbox, 'after' | 'lastId'> | null,
  emit: (message: A2aMessage) => void,
  signal: AbortSignal,
  ready: () => void = () => undefined
): Promise<void> {
  let wake = (): void => undefined
  // A notified message is already a row, and is sent in order.
  const stop = bus.subscribe(message => (message.plane === 'local_durable' ? wake() : emit(message)))
  const rest = (milliseconds: number | null): Promise<void> =>
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
      if (page.length < PAGE) await rest(durable === null ? null : LOOK_EVERY_MS)
    }
  } finally {
    stop()
  }
}
