import { createHash } from 'node:crypto'

const SEPARATOR = '\u001f'

/**
 * Returns the id of the task that a message starts: a UUID (version 8) from scope, sender and message id, so that every
 * server finds the first task of a repeated message.
 */
export function taskIdOf(scope: string, owner: string, messageId: string): string {
  return uuidOf(['task', scope, owner, messageId])
}

/** Returns the id of the context of a task whose client names none. */
export function contextIdOf(taskId: string): string {
  return uuidOf(['context', taskId])
}

/** Returns the key of the work item of a message: sender, task and message. */
export function workKeyOf(owner: string, taskId: string, messageId: string): string {
  return createHash('sha256').update([owner, taskId, messageId].join(SEPARATOR)).digest('hex')
}

/** Returns a number below 2^48 for the task, where another protocol needs one. */
export function taskNumberOf(taskId: string): number {
  return createHash('sha256').update(taskId).digest().readUIntBE(0, 6)
}

function uuidOf(parts: readonly string[]): string {
  const bytes = createHash('sha256').update(parts.join(SEPARATOR)).digest().subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
