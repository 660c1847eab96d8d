import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { OwnModelServer } from '@svc/contracts'
import { type Listening, reaches } from './own-client.ts'

const HEADER = 'x-svc-tapped'

/**
 * Secret of this process that marks requests of the inference client in the same process. That client has already
 * triggered the model hooks. The secret is never sent to another server, so other clients cannot bypass the hooks.
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
