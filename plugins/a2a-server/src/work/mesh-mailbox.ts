import {
  type DeliverBody,
  meshMailboxPrefix,
  meshStoreScope,
  type NewItem,
  REMOTE_TASK_RESULT,
  type RemoteTaskResult
} from '@svc/contracts'

const SEPARATOR = '\u001f'

/** Mailboxes of a mesh in the coordination store, with the names and bodies of the control plane. */
export class MeshMailboxes {
  /** Scope of the nodes in the store. */
  readonly scope: string
  /** Configured scope; null if none is. */
  readonly scopeId: string | null

  constructor(scopeId: string | null) {
    this.scopeId = scopeId
    this.scope = meshStoreScope(scopeId)
  }

  queueOf(receiver: string): string {
    return meshMailboxPrefix(this.scopeId) + receiver
  }

  /** Returns the item of a message. Sender, receiver and idempotency key identify it for ever. */
  itemOf(message: DeliverBody & { readonly idempotency_key: string }): NewItem {
    const { sender_agent_id, receiver_agent_id, idempotency_key, priority = 128 } = message
    const key = [sender_agent_id, receiver_agent_id, idempotency_key].join(SEPARATOR)
    return {
      queue: this.queueOf(receiver_agent_id),
      key,
      body: JSON.stringify({ ...message, priority, idempotency_dedupe_key: key }),
      priority
    }
  }
}

const KEY_PREFIX = 'a2a-'

/** Returns the key of the envelope of a task. */
export function envelopeKeyOf(task: string): string {
  return KEY_PREFIX + task
}

/** A message in the mailbox of results. */
export interface MeshResult {
  /** Id of the task; null for a result of something else. */
  readonly task: string | null
  readonly success: boolean
  readonly text: string
}

/** Reads a result from the body of an item; null for another message, or a malformed one. */
export function meshResultOf(body: string): MeshResult | null {
  try {
    const { message_type, payload } = JSON.parse(body) as { message_type?: unknown; payload?: unknown }
    if (message_type !== REMOTE_TASK_RESULT || typeof payload !== 'string') return null
    const value = JSON.parse(payload) as Readonly<Record<keyof RemoteTaskResult, unknown>>
    const { idempotency_key: key, success, result, error } = value
    if (typeof key !== 'string' || typeof success !== 'boolean') return null
    const text = success ? result : error
    return {
      task: key.startsWith(KEY_PREFIX) ? key.slice(KEY_PREFIX.length) : null,
      success,
      text: typeof text === 'string' && text !== '' ? text : success ? 'The task is complete.' : 'The task failed.'
    }
  } catch {
    return null
  }
}
