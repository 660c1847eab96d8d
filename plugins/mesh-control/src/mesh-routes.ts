import type { HttpCaller } from '@svc/contracts'
import type { HttpMethod, Infer, JsonSchema } from '@svc/plugin-sdk'
import { schemaCheck } from '@svc/plugin-sdk/check'
import { refuse } from './refusal.ts'
import type { Access } from './roles.ts'

/** A request that passed the checks of its route. */
export interface MeshRequest {
  readonly caller: HttpCaller
  /** Rate-limit key of the client's address. */
  readonly client: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The raw query string, without its question mark. */
  readonly query: string
}

/** Response of a route: JSON text, a value to send as JSON, or status 204 if there is neither. */
export interface MeshAnswer {
  readonly status?: number
  readonly json?: string
  readonly value?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** One route below `/v1/mesh`. */
export interface MeshRoute {
  readonly method: HttpMethod
  /** Path below `/v1/mesh`, with its slash. */
  readonly path: string
  readonly summary: string
  /** Null: every caller may call it. */
  readonly access: Access | null
  /** Schema of the body; undefined for GET. */
  readonly schema?: JsonSchema
  /** Validates the body and runs the route. Throws refusals. `body` is undefined for GET. */
  run(body: unknown, request: MeshRequest): Promise<MeshAnswer>
}

/** Declares a route without a body. */
export function getRoute(
  path: string,
  summary: string,
  access: Access | null,
  run: (request: MeshRequest) => Promise<MeshAnswer>
): MeshRoute {
  return { method: 'GET', path, summary, access, run: (_body, request) => run(request) }
}

/** Declares a route whose body must match a schema. A wrong body is refused with status 400, which names the field. */
export function postRoute<S extends JsonSchema>(
  path: string,
  summary: string,
  access: Access | null,
  schema: S,
  run: (body: Infer<S>, request: MeshRequest) => Promise<MeshAnswer>
): MeshRoute {
  const check = schemaCheck(schema)
  return {
    method: 'POST',
    path,
    summary,
    access,
    schema,
    run: async (body, request) => {
      const checked = check(body)
      if (!checked.ok) throw refuse('MSC_BODY_INVALID', `the body is invalid: ${checked.text}`)
      return run(checked.value, request)
    }
  }
}

/** Answer without a body. */
export const NO_CONTENT: MeshAnswer = Object.freeze({})
