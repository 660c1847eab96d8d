import { hash } from 'node:crypto'

const RANGE = 2 ** 48

/**
 * Returns the score of a server for a key by weighted rendezvous hashing: the server with the highest score gets the
 * key. If a server leaves, only its keys move. `weight` is above 0.
 */
export function rendezvousScore(name: string, weight: number, key: number): number {
  const digest = hash('sha1', `${key} ${name}`, 'buffer')
  // Strictly between 0 and 1, so that the logarithm is finite and not 0.
  const uniform = (digest.readUIntBE(0, 6) + 0.5) / RANGE
  return -weight / Math.log(uniform)
}
