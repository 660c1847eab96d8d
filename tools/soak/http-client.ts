import { Agent, type IncomingMessage, request } from 'node:http'
import { Unavailable } from './ledger.ts'

/** A request without an answer after so long counts as failed, even on a busy machine. */
const TIMEOUT_MS = 60_000

/** Shorter than the 75 s after which servers close idle connections, or a request may be sent into the end of one. */
const IDLE_MS = 60_000

export interface Answer {
  readonly status: number
  readonly text: string
  readonly headers: IncomingMessage['headers']
}

export interface RequestOptions {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Statuses beyond 2xx that are correct here. */
  readonly expect?: readonly number[]
  /** True for the Ollama API, whose errors are only a text. */
  readonly isOllama?: boolean
}

/** Sends requests over connections that stay open, and distinguishes typed refusals from other failures. */
export class HttpClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 8, timeout: IDLE_MS })

  /**
   * Throws `Unavailable` if there is no complete answer, or a typed error. Throws another error for an answer that breaks the
   * rules, such as an error without a code.
   */
  async request(url: string, options: RequestOptions = {}): Promise<Answer> {
    const answer = await this.#send(url, options)
    if ((answer.status >= 200 && answer.status < 300) || options.expect?.includes(answer.status)) return answer
    const line = `${options.method ?? 'GET'} ${new URL(url).pathname}: ${answer.status} ${answer.text.slice(0, 300)}`
    if (!isTyped(answer.text) && !(options.isOllama === true && hasErrorText(answer.text)))
      throw new Error(`an error without a code: ${line}`)
    throw new Unavailable(line)
  }

  async json(url: string, options: RequestOptions = {}): Promise<any> {
    return JSON.parse((await this.request(url, options)).text)
  }

  close(): void {
    this.#agent.destroy()
  }

  #send(url: string, { method = 'GET', body, headers = {} }: RequestOptions): Promise<Answer> {
    const isRaw = typeof body === 'string' || Buffer.isBuffer(body)
    const bytes = body === undefined ? undefined : isRaw ? (body as string | Buffer) : JSON.stringify(body)
    const type =
      bytes === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(bytes)) }
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void =>
        reject(new Unavailable(`${method} ${new URL(url).pathname}: ${error.message}`, { cause: error }))
      const sent = request(url, { method, agent: this.#agent, headers: { ...type, ...headers } }, response => {
        const pieces: Buffer[] = []
        response.on('data', piece => pieces.push(piece))
        response.on('error', fail)
        response.on('end', () => {
          if (!response.complete) fail(new Error('the answer was cut off'))
          else
            resolve({
              status: response.statusCode ?? 0,
              text: Buffer.concat(pieces).toString(),
              headers: response.headers
            })
        })
      })
      sent.on('error', fail)
      sent.setTimeout(TIMEOUT_MS, () => sent.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)))
      sent.end(bytes)
    })
  }
}

function hasErrorText(text: string): boolean {
  try {
    return typeof JSON.parse(text).error === 'string'
  } catch {
    return false
  }
}

/** True if an error has a code, in one of the formats of the surfaces. */
export function isTyped(text: string): boolean {
  // Control planes refuse with plain text, as their wire format requires.
  if (text.startsWith('mesh: ')) return true
  try {
    const { error, code, type } = JSON.parse(text)
    return [code, type, error?.code, error?.type].some(each => typeof each === 'string' || typeof each === 'number')
  } catch {
    return false
  }
}
