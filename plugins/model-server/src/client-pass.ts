import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { OwnModelServer } from '@svc/contracts'
import { type Listening, reaches } from './own-client.ts'

const HEADER = 'x-svc-tapped'

/**
 * A secret of this process by which the server recognises requests of the client in the same process: those have passed
 * the hooks of models. The secret is sent to no other server, so other clients cannot bypass the hooks.
 */
export class ClientPass implements OwnModelServer {
  readonly #listening: Listening
  readonly #secret = randomBytes(16).toString('hex')

  constructor(listening: Listening) {
    this.#listening = listening
  }

  passFor(url: string): Readonly<Record<string, string>> {
    return reaches(new URL(url), this.#listening) ? { [HEADER]: this.#secret } : {}
  }

  isIn({ [HEADER]: given }: IncomingHttpHeaders): boolean {
    if (typeof given !== 'string' || given.length !== this.#secret.length) return false
    return timingSafeEqual(Buffer.from(given, 'latin1'), Buffer.from(this.#secret, 'latin1'))
  }
}
