import { type StreamResponse, StreamResponse as StreamResponseCodec } from '@a2a-js/sdk'
import { V03PushNotificationSerializer } from '@a2a-js/sdk/compat/v0_3/server'
import type { ClaimedItem, Coordination } from '@svc/contracts'
import { errorMessage, isSvcError, type Logger } from '@svc/plugin-sdk'
import type { PushConfig } from '../tasks/event.ts'
import { streamed, type TaskSnapshot, taskOf } from '../tasks/snapshot.ts'
import type { TaskStore } from '../tasks/task-store.ts'
import { WakeUp } from '../wake-up.ts'
import { type Notification, pushQueueOf } from './notification.ts'
import type { Callback } from './send-callback.ts'

/** Longer than one attempt may take. */
const LEASE_MS = 30_000
const CONCURRENT = 16
const IDLE_MS = 1_000
const FIRST_DELAY_MS = 1_000
const MAX_DELAY_MS = 5 * 60_000
const MAX_ERROR_CHARS = 500

export interface PushSenderParts {
  readonly store: Coordination
  readonly tasks: TaskStore
  readonly holder: string
  readonly log: Logger
  readonly send: (callback: Callback, signal: AbortSignal) => Promise<void>
}

/**
 * Sends the queued notifications. One that fails is sent again, after 1 s, 2 s, 4 s and so on up to 5 min, until it moves
 * to the dead items. Each is sent at least once.
 */
export class PushSender {
  readonly #parts: PushSenderParts
  readonly #queue: string
  readonly counts = { sent: 0, failed: 0, dropped: 0 }

  constructor(parts: PushSenderParts) {
    this.#parts = parts
    this.#queue = pushQueueOf(parts.tasks.scope)
  }

  /** Sends notifications until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { store, holder, log } = this.#parts
    const ready = new WakeUp()
    const end = store.hints([this.#queue], () => ready.set())
    const running = new Set<Promise<void>>()
    try {
      while (!signal.aborted) {
        let claimed: readonly ClaimedItem[] = []
        try {
          const max = CONCURRENT - running.size
          if (max > 0) claimed = await store.claim(this.#queue, holder, { max, leaseMs: LEASE_MS })
        } catch (error) {
          log.warn('push notifications cannot be read from the store', { reason: errorMessage(error) })
        }
        for (const item of claimed) {
          const sending: Promise<void> = this.#deliver(item, signal).finally(() => {
            running.delete(sending)
            ready.set()
          })
          running.add(sending)
        }
        if (claimed.length === 0) await ready.wait(IDLE_MS, signal)
      }
    } finally {
      end()
      await Promise.all(running)
    }
  }

  async #deliver(item: ClaimedItem, signal: AbortSignal): Promise<void> {
    const { store, log } = this.#parts
    try {
      const callback = await this.#callbackOf(item)
      if (callback === null) {
        this.counts.dropped += 1
        await store.ack([item])
        return
      }
      await this.#parts.send(callback, signal)
      this.counts.sent += 1
      await store.ack([item])
    } catch (error) {
      const reason = errorMessage(error).slice(0, MAX_ERROR_CHARS)
      if (!signal.aborted) {
        this.counts.failed += 1
        const code = isSvcError(error) ? error.code : undefined
        log.warn('a push notification was not delivered', { reason, code, attempts: item.attempts })
      }
      const delayMs = signal.aborted ? 0 : Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (item.attempts - 1))
      // If this fails too, the item is claimed again when its lease has expired.
      await store.nack([item], { delayMs, error: reason }).catch(() => undefined)
    }
  }

  /** Returns what to send; null if the webhook was removed, or the event does not count since the task had ended. */
  async #callbackOf({ body }: ClaimedItem): Promise<Callback | null> {
    const { task: id, config: configId, event: key } = JSON.parse(body) as Notification
    const task = await this.#parts.tasks.find(id)
    const config = task?.pushes.find(each => each.id === configId)
    const logged = task?.events.find(each => each.key === key)
    const event = task === null || logged === undefined ? null : streamed(task, logged)
    if (task === null || config === undefined || event === null) return null
    return callbackTo(config, event, task)
  }
}

function callbackTo(config: PushConfig, event: StreamResponse, task: TaskSnapshot): Callback {
  const { url, token, authentication, version } = config
  const { body, contentType } =
    version === '0.3'
      ? new V03PushNotificationSerializer().serialize(event, taskOf(task))
      : { body: JSON.stringify(StreamResponseCodec.toJSON(event)), contentType: 'application/a2a+json' }
  return {
    url,
    body,
    headers: {
      'content-type': contentType,
      ...(authentication === null ? null : { authorization: `${authentication.scheme} ${authentication.credentials}` }),
      ...(token === '' ? null : { 'x-a2a-notification-token': token })
    }
  }
}
