import { hash, timingSafeEqual } from 'node:crypto'
import type { Role } from './role.ts'

/** The tokens of both roles. Compares digests in constant time, so that neither length nor content leaks. */
export class BearerTokens {
  readonly #write: Buffer | null
  readonly #read: Buffer | null

  constructor(write: string | undefined, read: string | undefined) {
    this.#write = write === undefined ? null : digest(write)
    this.#read = read === undefined ? null : digest(read)
  }

  /** True if callers must present a token. */
  get required(): boolean {
    return this.#write !== null || this.#read !== null
  }

  /** Returns the role for an Authorization header, or null. The scheme is case-insensitive (RFC 9110, 11.1). */
  roleOfHeader(header: string | undefined): Role | null {
    const token = header === undefined ? undefined : /^bearer +(\S+) *$/i.exec(header)?.[1]
    return token === undefined ? null : this.roleOf(token)
  }

  roleOf(token: string): Role | null {
    const sent = digest(token)
    const isWrite = this.#write !== null && timingSafeEqual(sent, this.#write)
    const isRead = this.#read !== null && timingSafeEqual(sent, this.#read)
    return isWrite ? 'write' : isRead ? 'read' : null
  }
}

function digest(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}
