import type { HttpExchange, Identity } from '@svc/contracts'
import type { IdentityFilter } from '../auth/ended-identities.ts'
import type { Guards, StreamCaller } from '../auth/guard.ts'
import { proofRequest } from '../auth/verifier.ts'
import { runErrors } from '../errors.ts'
import { ANONYMOUS_TEXT } from '../interpreter/request.ts'

/** An admitted caller of a stream. */
export interface Admission {
  /** null: anyone is admitted, or the caller has no identity. */
  readonly identity: Identity | null
  /** The caller as text, for threads. Streams of callers with equal texts may share results. */
  readonly text: string
  /** Throws if the caller would not be admitted now, such as after the end of its session; null for an open stream. */
  readonly check: (() => Promise<void>) | null
}

const OPEN: Admission = { identity: null, text: ANONYMOUS_TEXT, check: null }

/** Decides which callers may follow queries and topics: those that may call the queries. */
export class LiveAccess {
  readonly #guards: Pick<Guards, 'of'>

  constructor(guards: Pick<Guards, 'of'>) {
    this.#guards = guards
  }

  /** Admits a caller that may call all of the queries. Throws the error of the first guard that refuses it. */
  async admit(queries: Iterable<string>, stream: StreamCaller): Promise<Admission> {
    const guards = [...queries].map(name => this.#guards.of(name)).filter(guard => guard !== null)
    if (guards.length === 0) return OPEN
    const texts: string[] = []
    let identity: Identity | null = null
    for (const guard of guards) {
      const { text, proven } = await guard.admitStream(stream, true)
      texts.push(text)
      identity ??= proven?.identity ?? null
    }
    return {
      identity,
      text: texts[0] ?? ANONYMOUS_TEXT,
      check: async () => {
        for (const [index, guard] of guards.entries()) {
          const { text } = await guard.admitStream(stream, false)
          if (text !== texts[index])
            throw runErrors.create('RUN_AUTH_UNAVAILABLE', 'the identity of the caller has changed', {
              hint: 'follow the query again'
            })
        }
      }
    }
  }
}

/** Checks a caller again if its identity is meant. */
export type Recheck = (isMeant: IdentityFilter) => void

/** `refused`: ends the stream of a caller that would not be admitted now. */
export function recheckOf({ identity, check }: Admission, refused: (error: unknown) => void): Recheck {
  return isMeant => {
    if (check !== null && identity !== null && isMeant(identity)) void check().catch(refused)
  }
}

/** Returns the caller of a request for a stream of events. */
export function streamOf({ request, caller }: HttpExchange): StreamCaller {
  return { request, caller, proof: proofRequest(request, caller) }
}

/**
 * Returns the caller of a websocket. `bearer`: the token that it sent in a message. Its cookies count only for pages of
 * this origin, since browsers let every page open a websocket.
 */
export function socketCaller(
  { request, caller }: Pick<HttpExchange, 'request' | 'caller'>,
  bearer: string | null
): StreamCaller {
  const proof = proofRequest(request, caller)
  return { request, caller, proof: { ...proof, method: 'POST', bearer: bearer ?? proof.bearer } }
}
