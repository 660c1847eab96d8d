import { randomInt } from 'node:crypto'

const ACCEPTED = /^[A-Za-z0-9._:/+=@-]{1,128}$/

/** Random prefix of this process's ids: one of 60 million, so that processes with a common log rarely share it. */
const origin = randomInt(36 ** 5)
  .toString(36)
  .padStart(5, '0')
const LOW = Array.from({ length: 36 ** 3 }, (_, low) => low.toString(36).padStart(3, '0'))
let high = 0
let low = 0
let start = `${origin}0000`

/**
 * Returns the client's id if it is safe to log and return, otherwise a new one with twelve characters. A new id is
 * concatenated from two prepared parts: V8 copies short strings immediately, but builds a rope for longer ones.
 */
export function requestIdOf(header: string | string[] | undefined): string {
  if (typeof header === 'string' && ACCEPTED.test(header)) return header
  if (low === LOW.length) {
    low = 0
    high += 1
    start = origin + high.toString(36).padStart(4, '0')
  }
  const id = start + LOW[low]
  low += 1
  return id
}
