import { createHash, randomBytes } from 'node:crypto'

const ID = /^sess_([0-9a-f]+)_([0-9a-f]+)$/
const PLAIN = /^[a-z0-9][a-z0-9_-]{0,63}$/

/**
 * Makes `sess_<hex seconds>_<hex counter>`. The counter begins at a random number, so that processes which begin in one second do not
 * make the same ones.
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
 * Name of the file of a session, without a folder. Sessions may be named by others, with any characters: names that could mean
 * something to a file system, or differ only by case, are hashed. The session's first event has the name itself.
 */
export function sessionFileName(session: string): string {
  if (ID.test(session) || PLAIN.test(session)) return `${session}.jsonl`
  return `h_${createHash('sha256').update(session).digest('hex').slice(0, 32)}.jsonl`
}
