import type { IncomingMessage } from 'node:http'
import { AccessTokens, type MeshRole, type TokenBuckets } from '@svc/contracts'
import { isJwt, type JwtBearers } from './jwt.ts'
import { refuse } from './refusal.ts'
import { type Access, mayCall, ROLES } from './roles.ts'

export interface BearersOptions {
  readonly tokens: Readonly<Partial<Record<MeshRole, string>>>
  /** Null: JWTs are not accepted. */
  readonly jwt: JwtBearers | null
  /** Limit of wrong tokens per client. */
  readonly wrong: TokenBuckets
}

/** Authenticates callers by their bearer, and checks their role. */
export class Bearers {
  readonly #tokens: AccessTokens
  /** Role of each token. */
  readonly #roles: readonly MeshRole[]
  readonly #jwt: JwtBearers | null

  constructor({ tokens, jwt, wrong }: BearersOptions) {
    // Of two equal tokens the last one counts, so the first role to match comes last.
    const set = [...ROLES].reverse().flatMap(role => {
      const token = tokens[role]
      return token === undefined ? [] : [{ role, token }]
    })
    this.#roles = set.map(({ role }) => role)
    this.#tokens = new AccessTokens(
      set.map(({ token }) => token),
      wrong
    )
    this.#jwt = jwt
  }

  /** False if every caller is accepted. */
  get areRequired(): boolean {
    return this.#roles.length > 0 || this.#jwt !== null
  }

  /**
   * Checks the caller of a route. Throws `MSC_UNAUTHORIZED`, `MSC_FORBIDDEN`, or `MSC_RATE_LIMITED` after many wrong
   * tokens of the client, and errors of the store.
   */
  async check({ headers }: IncomingMessage, client: string, access: Access): Promise<void> {
    if (!this.areRequired) return
    const role = await this.#roleOf(headers.authorization, client)
    if (!mayCall(role, access)) throw refuse('MSC_FORBIDDEN', `the role ${role} may not call this route`)
  }

  /** Returns the role of a caller; `mesh` if every caller is accepted. Throws as {@link check}. */
  async identify({ headers }: IncomingMessage, client: string): Promise<MeshRole> {
    return this.areRequired ? this.#roleOf(headers.authorization, client) : 'mesh'
  }

  async #roleOf(header: string | undefined, client: string): Promise<MeshRole> {
    const token = header === undefined ? undefined : /^bearer +(\S+) *$/i.exec(header)?.[1]
    if (token === undefined) throw refuse('MSC_UNAUTHORIZED', 'unauthorized')
    const jwtRole = this.#jwt !== null && isJwt(token) ? await this.#jwt.verify(token) : null
    if (jwtRole !== null) return jwtRole
    const { index, waitMs } = this.#tokens.check(token, client)
    const role = index === null ? undefined : this.#roles[index]
    if (role !== undefined) return role
    if (waitMs > 0) throw refuse('MSC_RATE_LIMITED', 'too many wrong tokens came from this address', waitMs)
    throw refuse('MSC_UNAUTHORIZED', 'unauthorized')
  }
}
