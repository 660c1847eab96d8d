import type { A2aMessage } from '@svc/contracts'
import { type Priority, priorityRank } from './planes.ts'

const INBOX_CAP = 100
const HISTORY_CAP = 1_000

export interface LocalMessage {
  readonly sender: number
  readonly receiver: number | null
  readonly msg_type: string
  readonly payload: string
  readonly priority: Priority
  readonly ttlMs: number
  readonly correlation_id?: string | undefined
  readonly thread_id?: string | undefined
  /** Set if the caller chose a key: a second message of that sender with it is not delivered again. */
  readonly key?: string | undefined
}

interface Held {
  readonly message: A2aMessage
  readonly expiresAt: number
  readonly key: string | undefined
}

interface Inbox {
  /** In order of arrival. */
  held: Held[]
  dropped: number
}

export interface Delivered {
  readonly message: A2aMessage
  /** Inboxes that accepted it. */
  readonly inboxes: number
  /** Messages that full inboxes dropped for it. */
  readonly dropped: number
  /** True for a known key: this is the first message with it, and it was not delivered again. */
  readonly repeated: boolean
}

/**
 * Messages inside this process, lost when it ends. Each receiver has an inbox of at most 100 messages; a full one drops
 * and counts the oldest. It is read by priority, then in order of sending. A message that is not read within its time
 * to live expires.
 */
export class LocalBus {
  readonly #inboxes = new Map<number, Inbox>()
  readonly #history: { message: A2aMessage; acknowledged: boolean }[] = []
  readonly #listeners = new Set<(message: A2aMessage) => void>()
  readonly #untold: A2aMessage[] = []
  readonly #now: () => number
  #telling = false
  #lastId = 0

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  send(receivers: Iterable<number>, sent: LocalMessage): Delivered {
    const again = sent.receiver === null || sent.key === undefined ? undefined : this.#known(sent.receiver, sent)
    if (again !== undefined) return { message: again, inboxes: 1, dropped: 0, repeated: true }
    const now = this.#now()
    this.#lastId += 1
    const message: A2aMessage = {
      id: this.#lastId,
      sender: sent.sender,
      receiver: sent.receiver,
      msg_type: sent.msg_type,
      payload: sent.payload,
      plane: sent.receiver === null ? 'broadcast' : 'local_ephemeral',
      ...(sent.correlation_id === undefined ? {} : { correlation_id: sent.correlation_id }),
      ...(sent.thread_id === undefined ? {} : { thread_id: sent.thread_id }),
      priority: sent.priority,
      timestamp_ms: now,
      acknowledged: false
    }
    let inboxes = 0
    let dropped = 0
    for (const receiver of receivers) {
      inboxes += 1
      dropped += this.#push(receiver, { message, expiresAt: now + sent.ttlMs, key: sent.key })
    }
    this.#history.push({ message, acknowledged: false })
    if (this.#history.length > HISTORY_CAP) this.#history.shift()
    this.tell(message)
    return { message, inboxes, dropped, repeated: false }
  }

  /** Highest priority first, first in first out within one. */
  inbox(agent: number): { readonly messages: readonly A2aMessage[]; readonly dropped: number } {
    const inbox = this.#inboxes.get(agent)
    if (inbox === undefined) return { messages: [], dropped: 0 }
    this.#expire(inbox)
    const messages = inbox.held.map(({ message }) => message)
    messages.sort((a, b) => priorityRank(b.priority) - priorityRank(a.priority))
    return { messages, dropped: inbox.dropped }
  }

  has(agent: number, id: number): boolean {
    return this.inbox(agent).messages.some(message => message.id === id)
  }

  ack(agent: number, id: number): boolean {
    if (!this.has(agent, id)) return false
    const inbox = this.#inboxes.get(agent)
    if (inbox !== undefined) inbox.held = inbox.held.filter(({ message }) => message.id !== id)
    const entry = this.#history.find(({ message }) => message.id === id)
    // Each receiver acknowledges a broadcast separately.
    if (entry !== undefined && entry.message.receiver === agent) entry.acknowledged = true
    return true
  }

  /** Oldest first. */
  history(since: number): readonly A2aMessage[] {
    return this.#history.flatMap(({ message, acknowledged }) =>
      message.timestamp_ms < since ? [] : [acknowledged ? { ...message, acknowledged } : message]
    )
  }

  forget(agent: number): void {
    this.#inboxes.delete(agent)
  }

  subscribe(listener: (message: A2aMessage) => void): () => void {
    // One function may be subscribed twice; each subscription ends separately.
    const own = (message: A2aMessage): void => listener(message)
    this.#listeners.add(own)
    return () => this.#listeners.delete(own)
  }

  /** Notifies listeners of messages in the order of the calls, including messages that a listener sends. */
  tell(message: A2aMessage): void {
    this.#untold.push(message)
    if (this.#telling) return
    this.#telling = true
    try {
      for (let next = this.#untold.shift(); next !== undefined; next = this.#untold.shift())
        for (const listener of [...this.#listeners]) listener(next)
    } finally {
      this.#telling = false
    }
  }

  #known(receiver: number, { sender, key }: LocalMessage): A2aMessage | undefined {
    const inbox = this.#inboxes.get(receiver)
    if (inbox === undefined) return undefined
    this.#expire(inbox)
    return inbox.held.find(held => held.key === key && held.message.sender === sender)?.message
  }

  #push(receiver: number, held: Held): number {
    const inbox = this.#inboxes.get(receiver) ?? { held: [], dropped: 0 }
    this.#inboxes.set(receiver, inbox)
    if (inbox.held.length >= INBOX_CAP) this.#expire(inbox)
    const dropped = inbox.held.length >= INBOX_CAP ? 1 : 0
    if (dropped === 1) inbox.held.shift()
    inbox.dropped += dropped
    inbox.held.push(held)
    return dropped
  }

  #expire(inbox: Inbox): void {
    const now = this.#now()
    if (inbox.held.some(({ expiresAt }) => expiresAt <= now))
      inbox.held = inbox.held.filter(({ expiresAt }) => expiresAt > now)
  }
}
