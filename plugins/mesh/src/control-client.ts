import { MESH_PATH, type MeshPlane, type MeshSettings } from '@svc/contracts'
import { defined, errorMessage, parseStrictJson, type SvcError, withTimeout } from '@svc/plugin-sdk'
import { meshPluginErrors } from './errors.ts'

const TIMEOUT_MS = 10_000
/** Maximum size of an answer in bytes. A control plane sends at most 14 MiB of nodes or leases. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024
const PROBE_TIMEOUT_MS = 2_000
const MAX_PROBE_BYTES = 65_536
/** Characters of a refusal that an error repeats. */
const SHOWN_CHARS = 240

export interface ControlCall {
  readonly method: 'GET' | 'POST'
  /** Path below `/v1/mesh`. */
  readonly path: string
  readonly body?: object
  /** Bearer; null: none. */
  readonly token: string | null
  readonly signal: AbortSignal
}

export interface ControlAnswer {
  readonly status: number
  readonly text: string
}

/** Calls a control plane for the commands. Several URLs are tried in turn until one responds. */
export class ControlClient {
  readonly #settings: Pick<MeshSettings, 'controlUrls' | 'token'>

  constructor(settings: Pick<MeshSettings, 'controlUrls' | 'token'>) {
    this.#settings = settings
  }

  /**
   * Calls a route of the configured control planes. Resolves to the JSON of the answer; null for one without a body. Throws
   * `MSP_NOT_JOINED`, `MSP_UNREACHABLE`, `MSP_REFUSED` or `MSP_ANSWER_INVALID`.
   */
  async call(
    plane: MeshPlane,
    method: 'GET' | 'POST',
    path: string,
    body: object | undefined,
    signal: AbortSignal
  ): Promise<unknown> {
    const urls = this.#settings.controlUrls
    if (urls.length === 0) {
      throw meshPluginErrors.create('MSP_NOT_JOINED', 'this project has joined no mesh', {
        hint: 'svc mesh join URL --bootstrap TOKEN, or set [mesh] control_url; svc mesh up makes a control plane'
      })
    }
    const token = this.#settings.token(plane)
    return callControl(urls, { method, path, token, signal, ...(body === undefined ? null : { body }) })
  }
}

/** Calls the first of the control planes that responds; see {@link ControlClient.call}. */
export async function callControl(urls: readonly string[], call: ControlCall): Promise<unknown> {
  let reason: unknown
  for (const url of urls) {
    let answer: ControlAnswer
    try {
      answer = await send(url, call)
    } catch (error) {
      call.signal.throwIfAborted()
      reason = error
      continue
    }
    if (answer.status < 200 || answer.status > 299) throw refused(url, call.path, answer)
    return answer.text === '' ? null : parse(url, answer.text)
  }
  const shown = urls.join(', ')
  throw meshPluginErrors.create('MSP_UNREACHABLE', `no control plane responds at ${shown}: ${causeOf(reason)}`, {
    data: { urls },
    hint: 'check the URL, and that svc mesh serve runs there',
    cause: reason
  })
}

/** Whether a control plane can serve. */
export interface PlaneProbe {
  readonly url: string
  /** `degraded`: it responds, but cannot serve. `invalid`: something else responds at the URL. */
  readonly state: 'ready' | 'degraded' | 'unreachable' | 'invalid'
  /** Why the state is not `ready`. */
  readonly detail?: string
  /** Duration of the request in milliseconds. */
  readonly ms: number
}

/** Requests `/ready` of a control plane, without a token. Never rejects. */
export async function probeControl(url: string, signal: AbortSignal): Promise<PlaneProbe> {
  const begun = performance.now()
  const found = await withTimeout(
    PROBE_TIMEOUT_MS,
    async (limited): Promise<Omit<PlaneProbe, 'ms'>> => {
      const response = await fetch(`${url}/ready`, { redirect: 'manual', signal: limited })
      const text = shortened(await textOf(response, MAX_PROBE_BYTES))
      if (response.status === 200) return { url, state: 'ready' }
      if (response.status === 503) return { url, state: 'degraded', detail: text }
      return { url, state: 'invalid', detail: `it answers /ready with ${response.status}; is it a control plane?` }
    },
    { signal }
  ).catch((error): Omit<PlaneProbe, 'ms'> => ({ url, state: 'unreachable', detail: causeOf(error) }))
  return { ...found, ms: Math.round(performance.now() - begun) }
}

function send(url: string, { method, path, body, token, signal }: ControlCall): Promise<ControlAnswer> {
  return withTimeout(
    TIMEOUT_MS,
    async limited => {
      const response = await fetch(`${url}${MESH_PATH}${path}`, {
        method,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(token === null ? {} : { authorization: `Bearer ${token}` })
        },
        body: body === undefined ? null : JSON.stringify(body),
        // A redirect would send the token to another server.
        redirect: 'manual',
        signal: limited
      })
      return { status: response.status, text: await textOf(response) }
    },
    { signal }
  )
}

async function textOf(response: Response, maxBytes = MAX_ANSWER_BYTES): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new Error(`the answer has more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parse(url: string, text: string): unknown {
  try {
    return parseStrictJson(text)
  } catch (cause) {
    throw meshPluginErrors.create('MSP_ANSWER_INVALID', `${url} sent an answer that is not JSON`, {
      hint: 'check that the URL is that of a control plane',
      cause
    })
  }
}

function refused(url: string, path: string, { status, text }: ControlAnswer): SvcError {
  const reason = shortened(text)
  return meshPluginErrors.create('MSP_REFUSED', `${url} refused ${path} with status ${status}: ${reason}`, {
    data: { status, path },
    ...defined({ hint: hintOf(status, path) })
  })
}

function hintOf(status: number, path: string): string | undefined {
  if (path === '/bootstrap/exchange' && (status === 401 || status === 410))
    return 'get a new one-time token: run svc mesh pair on a member of the mesh'
  if (status === 401) return 'check the token: SVC_MESH_TOKEN, or join the mesh again'
  if (status === 403)
    return 'check the role of the token (SVC_MESH_ADMIN_TOKEN for administrators) and SVC_MESH_SCOPE_ID'
  if (status === 404 && path === '/admin/exec-lease/revoke') return 'svc mesh leases lists the leases'
  if (status === 404 && path.startsWith('/admin/')) return 'svc mesh nodes lists the nodes'
  return status === 429 || status === 503 ? 'try again in a moment' : undefined
}

/** Returns the beginning of a text of another machine, in one line. */
function shortened(text: string): string {
  return text.slice(0, SHOWN_CHARS).replaceAll(/\s+/g, ' ').trim()
}

/** Returns the reason of a failed request. That of `fetch` is in its cause. */
function causeOf(error: unknown): string {
  const { cause } = (error ?? {}) as { readonly cause?: unknown }
  return errorMessage(cause ?? error)
}
