import { createHash, randomBytes } from 'node:crypto'

const ID = /^sess_([0-9a-f]+)_([0-9a-f]+)$/
const PLAIN = /^[a-z0-9][a-z0-9_-]{0,63}$/

/**
 * Returns a generator of ids `sess_<hex seconds>_<hex counter>`. The counter starts at a random number, so that
 * processes that start in the same second do not collide.
 */
export function sessionIds(now: () => number, first = randomBytes(4).readUInt32BE()): () => string {
  let counter = first
  return () => {
    const id = `sess_${Math.floor(now() / 1000).toString(16)}_${counter.toString(16)}`
    counter = (counter + 1) % 2 ** 48
    return id
  }
}

/**
 * Returns the file name of a session, without a folder. Session names are arbitrary: names that are special for a file
 * system, or differ only in case, are hashed. The session's first event contains the name itself.
 */
export function sessionFileName(session: string): string {
  if (ID.test(session) || PLAIN.test(session)) return `${session}.jsonl`
  return `h_${createHash('sha256').update(session).digest('hex').slice(0, 32)}.jsonl`
}
