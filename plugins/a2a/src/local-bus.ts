import type { A2aMessage } from '@svc/contracts'
import { type Priority, priorityRank } from './planes.ts'

const MAX_INBOX = 100
const MAX_HISTORY = 1_000

export interface LocalMessage {
  readonly sender: number
  readonly receiver: number | null
  readonly msg_type: string
  readonly payload: string
  readonly priority: Priority
  readonly ttlMs: number
  readonly correlation_id?: string | undefined
  readonly thread_id?: string | undefined
  /**
   * Idempotency key of the caller. A message with the same key, sender and receiver as one in the inbox is not delivered.
   */
  readonly key?: string | undefined
}

interface Entry {
  readonly message: A2aMessage
  readonly expiresAt: number
  readonly key: string | undefined
}

interface Inbox {
  /** Unacknowledged messages in order of arrival. */
  entries: Entry[]
  dropped: number
}

export interface Delivered {
  readonly message: A2aMessage
  /** Number of agents that received the message. */
  readonly inboxes: number
  /** Number of older messages that full inboxes dropped. */
  readonly dropped: number
  /** True if the inbox already has a message with the key; `message` is then that message, and nothing was delivered. */
  readonly repeated: boolean
}

/**
 * Delivers messages inside this process; they are lost when it ends. Each receiver has an inbox of at most 100
 * messages; a full inbox drops the oldest and counts it. Messages are read by priority, then in order of sending. An
 * unacknowledged message expires after its time to live.
 */
export class LocalBus {
  readonly #inboxes = new Map<number, Inbox>()
  readonly #history: { message: A2aMessage; acknowledged: boolean }[] = []
  readonly #listeners = new Set<(message: A2aMessage) => void>()
  readonly #unnotified: A2aMessage[] = []
  readonly #now: () => number
  #notifying = false
  #lastId = 0

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  send(receivers: Iterable<number>, sent: LocalMessage): Delivered {
    const again = sent.receiver === null || sent.key === undefined ? undefined : this.#findByKey(sent.receiver, sent)
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
    if (this.#history.length > MAX_HISTORY) this.#history.shift()
    this.notify(message)
    return { message, inboxes, dropped, repeated: false }
  }

  /** Returns the unacknowledged messages of an agent, highest priority first, then in order of arrival. */
  inbox(agent: number): { readonly messages: readonly A2aMessage[]; readonly dropped: number } {
    const inbox = this.#inboxes.get(agent)
    if (inbox === undefined) return { messages: [], dropped: 0 }
    this.#expire(inbox)
    const messages = inbox.entries.map(({ message }) => message)
    messages.sort((a, b) => priorityRank(b.priority) - priorityRank(a.priority))
    return { messages, dropped: inbox.dropped }
  }

  has(agent: number, id: number): boolean {
    return this.inbox(agent).messages.some(message => message.id === id)
  }

  ack(agent: number, id: number): boolean {
    if (!this.has(agent, id)) return false
    const inbox = this.#inboxes.get(agent)
    if (inbox !== undefined) inbox.entries = inbox.entries.filter(({ message }) => message.id !== id)
    const entry = this.#history.find(({ message }) => message.id === id)
    // Each receiver acknowledges a broadcast separately.
    if (entry !== undefined && entry.message.receiver === agent) entry.acknowledged = true
    return true
  }

  /** Returns the last messages since a time, oldest first. */
  history(since: number): readonly A2aMessage[] {
    return this.#history.flatMap(({ message, acknowledged }) =>
      message.timestamp_ms < since ? [] : [acknowledged ? { ...message, acknowledged } : message]
    )
  }

  /** Deletes the inbox of an agent. */
  forget(agent: number): void {
    this.#inboxes.delete(agent)
  }

  subscribe(listener: (message: A2aMessage) => void): () => void {
    // The same function may be subscribed twice; each subscription ends separately.
    const registered = (message: A2aMessage): void => listener(message)
    this.#listeners.add(registered)
    return () => this.#listeners.delete(registered)
  }

  /** Notifies the listeners. Messages that a listener sends are queued, so that all listeners see the same order. */
  notify(message: A2aMessage): void {
    this.#unnotified.push(message)
    if (this.#notifying) return
    this.#notifying = true
    try {
      for (let next = this.#unnotified.shift(); next !== undefined; next = this.#unnotified.shift())
        for (const listener of [...this.#listeners]) listener(next)
    } finally {
      this.#notifying = false
    }
  }

  #findByKey(receiver: number, { sender, key }: LocalMessage): A2aMessage | undefined {
    const inbox = this.#inboxes.get(receiver)
    if (inbox === undefined) return undefined
    this.#expire(inbox)
    return inbox.entries.find(entry => entry.key === key && entry.message.sender === sender)?.message
  }

  #push(receiver: number, entry: Entry): number {
    const inbox = this.#inboxes.get(receiver) ?? { entries: [], dropped: 0 }
    this.#inboxes.set(receiver, inbox)
    if (inbox.entries.length >= MAX_INBOX) this.#expire(inbox)
    const dropped = inbox.entries.length >= MAX_INBOX ? 1 : 0
    if (dropped === 1) inbox.entries.shift()
    inbox.dropped += dropped
    inbox.entries.push(entry)
    return dropped
  }

  #expire(inbox: Inbox): void {
    const now = this.#now()
    if (inbox.entries.some(({ expiresAt }) => expiresAt <= now))
      inbox.entries = inbox.entries.filter(({ expiresAt }) => expiresAt > now)
  }
}
