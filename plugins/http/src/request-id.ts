import { randomInt } from 'node:crypto'

const ACCEPTED = /^[A-Za-z0-9._:/+=@-]{1,128}$/
/** As the kernel takes it: of any version but the forbidden `ff`, no id all zero; later versions may add fields at the end. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/

/** Ids of this process begin with it: 60 million values, so that processes of one log rarely share theirs. */
const origin = randomInt(36 ** 5)
  .toString(36)
  .padStart(5, '0')
const LOW = Array.from({ length: 36 ** 3 }, (_, low) => low.toString(36).padStart(3, '0'))
let high = 0
let low = 0
let start = `${origin}0000`

/**
 * The client's id when it is safe to log and to send back, otherwise a new one of twelve characters. It is put together
 * from two ready pieces: V8 copies strings this short at once and would build a tree of longer ones.
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

/** A W3C `traceparent` that is well formed (https://www.w3.org/TR/trace-context); anything else is as if it were absent. */
export function traceparentOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && TRACEPARENT.test(header) ? header : undefined
}
